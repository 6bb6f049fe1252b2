package preemption

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu, cpu = corev1.ResourceName("nvidia.com/gpu"), corev1.ResourceCPU

// now is the time of all tests.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

var policy = Policy{
	MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, Heartbeat: 10 * time.Second,
	Patience: 2 * time.Second, MaxPlans: 8, MaxRounds: 3, Placing: 30 * time.Second,
}

// randomSnapshot has nodes of 8 GPUs, filled by gangs of every shape, and a few waiting gangs.
func randomSnapshot(r *rand.Rand, gangs, waiting int) Snapshot {
	w := Snapshot{Now: now}
	nodes := 2 + r.IntN(6)
	free := make([]int64, nodes)
	for i := range nodes {
		free[i] = 8
		w.Nodes = append(w.Nodes, Node{Name: fmt.Sprint("node-", i)})
	}
	for i := range gangs {
		g := randomRunning(r, i)
		each := int64(1) << r.IntN(4)
		for range 1 + r.IntN(4) {
			if n := r.IntN(nodes); free[n] >= each {
				hold(&g, w.Nodes[n].Name, each)
				free[n] -= each
			}
		}
		w.Running = append(w.Running, g)
	}
	for i := range w.Nodes {
		w.Nodes[i].Free = scheduler.Amounts{gpu: free[i], cpu: 1000 * free[i]}
	}
	for i := range waiting {
		w.Waiting = append(w.Waiting, randomWaiting(r, i, w.Nodes))
	}
	limit(r, &w)
	return w
}

// quota is a budget of GPUs.
const quota = "quota of GPUs"

// limit some waiting gangs by a quota that some of the running gangs use up.
func limit(r *rand.Rand, w *Snapshot) {
	w.Nodes = append(w.Nodes, Node{Name: quota, Free: scheduler.Amounts{gpu: int64(r.IntN(8))}})
	for i := range w.Running {
		if r.IntN(3) > 0 {
			w.Running[i].Holds[quota] = scheduler.Amounts{gpu: w.Running[i].GPUs}
		}
	}
	for i := range w.Waiting {
		if r.IntN(3) == 0 {
			w.Waiting[i].Within = []string{quota}
		}
	}
}

func hold(g *Running, node string, gpus int64) {
	if g.Holds[node] == nil {
		g.Holds[node] = scheduler.Amounts{}
	}
	g.Holds[node][gpu] += gpus
	g.Holds[node][cpu] += 1000 * gpus
	g.GPUs += gpus
}

func randomRunning(r *rand.Rand, i int) Running {
	g := Running{
		Ref:   Ref{UID: types.UID(fmt.Sprint("running-", i)), Attempt: int32(1 + r.IntN(3))},
		Value: int32(r.IntN(4)), Holds: map[string]scheduler.Amounts{},
		Began: now.Add(-seconds(r, 300<<r.IntN(6))), Grace: 30 * time.Second,
		Start: seconds(r, 200), Save: seconds(r, 60),
		AskFailed: r.IntN(8) == 0, Foreign: r.IntN(8) == 0,
	}
	if r.IntN(2) == 0 {
		g.Saved = now.Add(-seconds(r, 3600))
	}
	if r.IntN(4) > 0 {
		g.Reported = now.Add(-seconds(r, 40))
	}
	if r.IntN(4) == 0 {
		g.NextSave = now.Add(seconds(r, 300))
	}
	if r.IntN(8) == 0 {
		g.End = now.Add(seconds(r, 300))
	}
	return g
}

func randomWaiting(r *rand.Rand, i int, nodes []Node) Waiting {
	w := Waiting{
		Ref: Ref{UID: types.UID(fmt.Sprint("waiting-", i)), Attempt: 1}, Value: int32(r.IntN(5)),
		Since: now.Add(-seconds(r, 30<<r.IntN(6))), MaxDelay: 2 * time.Minute,
	}
	w.Blocked = w.Since.Add(seconds(r, 10))
	for range 1 + r.IntN(2) {
		each := int64(1) << r.IntN(4)
		n := Need{Ranks: int64(1 + r.IntN(4)), Requests: scheduler.Amounts{gpu: each, cpu: 1000 * each}}
		for _, node := range nodes {
			if r.IntN(8) > 0 {
				n.Nodes = append(n.Nodes, node.Name)
			}
		}
		w.Needs = append(w.Needs, n)
	}
	return w
}

// seconds returns a random duration below a bound.
func seconds(r *rand.Rand, below int) time.Duration {
	return time.Duration(r.IntN(below)) * time.Second
}
