package preemption

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// BenchmarkChoose: a gang waits on a full cluster of 1,000 nodes with 1,000 gangs.
func BenchmarkChoose(b *testing.B) {
	for _, ranks := range []int64{1, 8, 64, 512} {
		b.Run(fmt.Sprint(ranks, " ranks"), func(b *testing.B) {
			w := crowded(rand.New(rand.NewPCG(5, 6)), 1000)
			n := Need{Ranks: ranks, Requests: scheduler.Amounts{gpu: 8, cpu: 8000}}
			for _, node := range w.Nodes {
				n.Nodes = append(n.Nodes, node.Name)
			}
			w.Waiting = []Waiting{{
				Ref: Ref{UID: "w", Attempt: 1}, Value: 100, Since: now.Add(-time.Hour), Blocked: now.Add(-time.Hour),
				MaxDelay: 2 * time.Minute, Needs: []Need{n},
			}}
			for b.Loop() {
				if c := policy.Choose(w)[0]; c.Outcome != Planned {
					b.Fatal(c.Outcome)
				}
			}
		})
	}
}

// crowded returns a cluster of gangs, each with halves of two nodes.
func crowded(r *rand.Rand, gangs int) Snapshot {
	w := Snapshot{Now: now}
	for i := range gangs {
		w.Nodes = append(w.Nodes, Node{Name: fmt.Sprintf("node-%04d", i), Free: scheduler.Amounts{gpu: 0, cpu: 0}})
	}
	halves := r.Perm(2 * gangs)
	for i := range gangs {
		g := old(fmt.Sprint("gang-", i), int32(r.IntN(3)), seconds(r, 3600))
		g.Ref, g.Holds = Ref{UID: g.UID, Attempt: 1}, map[string]scheduler.Amounts{}
		for _, half := range halves[2*i : 2*i+2] {
			hold(&g, w.Nodes[half/2].Name, 4)
		}
		w.Running = append(w.Running, g)
	}
	return w
}
