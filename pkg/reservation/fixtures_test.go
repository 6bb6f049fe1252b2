package reservation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// now is the time of all tests.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var policy = Policy{
	MaxReservations: 1, MaxSharePercent: 50, MaxHold: 2 * time.Hour, MaxAge: 48 * time.Hour, MarginPercent: 25,
	Placing: 30 * time.Second, MaxKeepsOff: 32,
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func ref(name string) preemption.Ref { return preemption.Ref{UID: types.UID(name), Attempt: 1} }

// cluster has nodes of 8 GPUs, with so many free GPUs each.
func cluster(free ...int64) Snapshot {
	s := Snapshot{Now: now}
	for i, n := range free {
		s.Nodes = append(s.Nodes, preemption.Node{Name: nodeName(i), Free: scheduler.Amounts{gpu: n}})
	}
	return s
}

// runs adds a gang with 8 GPUs on each of some nodes, that ends after a time; 0: unknown.
func (s *Snapshot) runs(name string, ends time.Duration, nodes ...int) *Running {
	g := Running{Ref: ref(name), Began: now.Add(-time.Hour), Holds: map[string]scheduler.Amounts{}}
	if ends > 0 {
		g.End = now.Add(ends)
	}
	for _, i := range nodes {
		g.Holds[nodeName(i)] = scheduler.Amounts{gpu: 8}
	}
	s.Running = append(s.Running, g)
	return &s.Running[len(s.Running)-1]
}

// waits adds a gang that needs 8 GPUs for each rank, on any node, and came after those before it.
func (s *Snapshot) waits(name string, ranks int64) *Waiting {
	n := preemption.Need{Ranks: ranks, Requests: scheduler.Amounts{gpu: 8}}
	for i := range s.Nodes {
		n.Nodes = append(n.Nodes, s.Nodes[i].Name)
	}
	since := now.Add(-time.Hour + time.Duration(len(s.Waiting))*time.Second)
	s.Waiting = append(s.Waiting, Waiting{
		Ref: ref(name), Since: since, Blocked: since, Needs: []preemption.Need{n}, KeepsOff: true,
		Save: 30 * time.Second, Start: time.Minute,
	})
	return &s.Waiting[len(s.Waiting)-1]
}

// reserves makes the last waiting gang one for which capacity is reserved, on nodes that are written.
func (g *Waiting) reserves(nodes ...string) *Waiting {
	g.ReserveAfter = 10 * time.Minute
	if len(nodes) > 0 {
		g.Reservation = &Reservation{
			Phase: Kept, Nodes: nodes, Since: now.Add(-time.Hour), Changed: now.Add(-time.Hour),
		}
	}
	return g
}

// write what a pass returns into the statuses.
func (s *Snapshot) write(r *Result) {
	for i := range s.Waiting {
		g := &s.Waiting[i]
		g.Reservation, g.Pass = r.Reservations[g.Ref], r.Passes[g.Ref]
		held, is := r.Held[g.Ref]
		g.Hold = g.Hold.Next(is && held.Fits, s.Now)
	}
}
