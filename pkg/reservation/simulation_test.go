package reservation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// simulated is a gang of the simulation, with whole nodes of 8 GPUs.
type simulated struct {
	Waiting
	running bool
	// work until it ends, saved by each recall. forecast is what the operator believes; 0: unknown.
	work, forecast time.Duration
	began          time.Time
	ending         bool
	on             []string
	pass           *Pass
	// held is the sum of the times for which it fitted and was held.
	held time.Duration
	// lapsed reservations, with the time until which it must not get another.
	free time.Time
}

// environment is a cluster with random faults: nodes are lost, foreign pods take nodes, writes are lost, and
// the operator restarts.
type environment struct {
	*testing.T
	r      *rand.Rand
	policy Policy
	now    time.Time
	nodes  map[string]bool
	// foreign nodes have pods of others.
	foreign map[string]bool
	gangs   []*simulated
	// quota limits all gangs that are Within it.
	quota int64
	added int
	// counts of what has happened, so that the test knows that it tests something.
	seen map[string]int
}

const (
	step  = 10 * time.Minute
	quota = "quota"
)

// TestInvariantsWithRandomFaults plays random gangs, and checks the invariants of doc.go in each pass.
func TestInvariantsWithRandomFaults(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(30) {
		w := newEnvironment(t, seed, seen)
		for range 300 {
			w.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log(seen)
	for _, what := range []string{
		"held", "lapsed", "moved", "recall", "OtherNodes", "EndsBefore", "Lent", "overstayed", "released",
		"passed all", "large starts",
	} {
		if seen[what] == 0 {
			t.Errorf("%s: never seen", what)
		}
	}
}

func newEnvironment(t *testing.T, seed uint64, seen map[string]int) *environment {
	w := &environment{
		T: t, r: rand.New(rand.NewPCG(seed, 1)), policy: policy, now: now, nodes: map[string]bool{},
		foreign: map[string]bool{}, quota: 80, seen: seen,
	}
	w.policy.MaxReservations = 1 + w.r.IntN(3)
	w.policy.MaxAge = time.Duration(6+w.r.IntN(40)) * time.Hour
	w.policy.MaxHold = time.Duration(1+w.r.IntN(12)) * time.Hour
	for i := range 12 {
		w.nodes[nodeName(i)] = true
	}
	return w
}

func (w *environment) step() {
	w.now = w.now.Add(step)
	w.arrive()
	w.breakThings()
	for _, g := range slices.Clone(w.gangs) {
		if g.running && (g.ending || w.now.Sub(g.began) >= g.work) {
			w.end(g)
		}
	}
	s := w.snapshot()
	r := w.policy.Pass(s)
	w.check(&s, &r)
	if w.r.IntN(10) == 0 {
		return // the operator ends before it writes, and the next one holds all gangs back
	}
	w.write(&r)
	w.obey(&r)
	w.schedule(&r)
}

// arrive: small gangs all the time, and sometimes a large one with a class that reserves.
func (w *environment) arrive() {
	for len(w.gangs) < 30 && w.r.IntN(2) == 0 {
		w.added++
		g := &simulated{work: time.Duration(1+w.r.IntN(40)) * step}
		ranks := int64(1 + w.r.IntN(2))
		if w.r.IntN(6) == 0 {
			ranks, g.ReserveAfter = int64(3+w.r.IntN(4)), step
		}
		g.Waiting = Waiting{
			Ref: ref(fmt.Sprint("gang-", w.added)), Value: int32(w.r.IntN(4) / 3), Since: w.now, Blocked: w.now,
			ReserveAfter: g.ReserveAfter, Lendable: w.r.IntN(3) == 0, KeepsOff: w.r.IntN(4) > 0,
			Save: 30 * time.Second, Start: time.Minute,
		}
		n := preemption.Need{Ranks: ranks, Requests: scheduler.Amounts{gpu: 8}}
		for i := range 12 {
			if w.r.IntN(20) > 0 {
				n.Nodes = append(n.Nodes, nodeName(i))
			}
		}
		g.Needs = []preemption.Need{n}
		if w.r.IntN(3) == 0 {
			g.Within = []string{quota}
		}
		switch w.r.IntN(4) {
		case 0:
			g.Bound = g.work
		case 1:
			g.Bound, g.Measured = g.work/2, true // it reports fewer steps than it trains
		}
		if w.r.IntN(3) > 0 {
			g.forecast = time.Duration(float64(g.work) * (0.5 + w.r.Float64()))
		}
		w.gangs = append(w.gangs, g)
	}
}

func (w *environment) breakThings() {
	node := nodeName(w.r.IntN(12))
	switch w.r.IntN(40) {
	case 0:
		w.nodes[node] = !w.nodes[node]
		for _, g := range w.gangs {
			if g.running && slices.Contains(g.on, node) {
				w.requeue(g)
			}
		}
	case 1:
		w.foreign[node] = !w.foreign[node] && w.free()[node] > 0
	}
}

func (w *environment) end(g *simulated) {
	if g.ending {
		g.work = max(step, g.work-w.now.Sub(g.began))
		w.requeue(g)
		return
	}
	w.gangs = slices.DeleteFunc(w.gangs, func(o *simulated) bool { return o == g })
}

func (w *environment) requeue(g *simulated) {
	g.running, g.ending, g.on, g.pass, g.held = false, false, nil, nil, 0
	g.Attempt++
	g.Blocked, g.Hold, g.Reservation, g.Pass = w.now, Hold{}, nil, nil
}

// free GPUs of the nodes.
func (w *environment) free() map[string]int64 {
	free := map[string]int64{}
	for name, is := range w.nodes {
		if is {
			free[name] = 8
		}
	}
	for _, g := range w.gangs {
		for _, name := range g.on {
			free[name] -= 8
		}
	}
	for name, is := range w.foreign {
		if _, known := free[name]; known && is {
			free[name] = 0
		}
	}
	return free
}

func (w *environment) snapshot() Snapshot {
	s, left := Snapshot{Now: w.now}, w.quota
	free := w.free()
	for _, name := range slices.Sorted(maps.Keys(free)) {
		s.Nodes = append(s.Nodes, preemption.Node{Name: name, Free: scheduler.Amounts{gpu: free[name]}})
	}
	for _, g := range w.gangs {
		if !g.running {
			s.Waiting = append(s.Waiting, g.Waiting)
			continue
		}
		r := Running{Ref: g.Ref, Value: g.Value, Holds: map[string]scheduler.Amounts{}, Began: g.began,
			Ending: g.ending, Pass: g.pass}
		if g.forecast > 0 {
			r.End = g.began.Add(g.forecast)
		}
		for _, name := range g.on {
			r.Holds[name] = scheduler.Amounts{gpu: 8}
		}
		if len(g.Within) > 0 {
			r.Holds[quota] = scheduler.Amounts{gpu: 8 * int64(len(g.on))}
			left -= 8 * int64(len(g.on))
		}
		s.Running = append(s.Running, r)
	}
	s.Budgets = []preemption.Node{{Name: quota, Free: scheduler.Amounts{gpu: left}}}
	return s
}

func (w *environment) write(r *Result) {
	for _, g := range w.gangs {
		if g.running {
			continue
		}
		is := r.Reservations[g.Ref]
		if was := g.Reservation; was != nil && is != nil {
			w.seen["moved"] += is.Moved - was.Moved
			if is.Phase == Lapsed && was.Phase != Lapsed {
				w.seen["lapsed"]++
				g.free = w.now.Add(w.now.Sub(was.Since))
			}
		}
		g.Reservation, g.Pass = is, r.Passes[g.Ref]
		held, isHeld := r.Held[g.Ref]
		g.Hold = g.Hold.Next(isHeld && held.Fits, w.now)
		if isHeld && held.Fits {
			g.held += step
			w.seen["held"]++
		}
	}
}

func (w *environment) obey(r *Result) {
	for _, recall := range r.Recalls {
		for _, victim := range recall.Victims {
			g := w.gang(victim)
			g.ending = true
			g.Recalls++
			w.seen["recall"]++
		}
	}
}

// schedule as a scheduler does: in any order, on any nodes that a gang's pods accept.
func (w *environment) schedule(r *Result) {
	for _, i := range w.r.Perm(len(w.gangs)) {
		g := w.gangs[i]
		if _, held := r.Held[g.Ref]; held || g.running || w.r.IntN(8) == 0 {
			continue
		}
		var off []string
		if g.Pass != nil {
			off = g.Pass.KeepsOff
		}
		nodes := w.where(g, off)
		if nodes == nil {
			continue
		}
		if g.Pass != nil {
			w.seen[string(g.Pass.How)]++
		}
		if g.ReserveAfter > 0 {
			w.seen["large starts"]++
		}
		g.running, g.began, g.on, g.pass = true, w.now, nodes, g.Pass
		g.Reservation = nil
	}
}

// where a gang can start now, without some nodes; nil: nowhere.
func (w *environment) where(g *simulated, off []string) []string {
	n, free := g.Needs[0], w.free()
	if len(g.Within) > 0 {
		left := w.quota
		for _, o := range w.gangs {
			if len(o.Within) > 0 {
				left -= 8 * int64(len(o.on))
			}
		}
		if left < 8*n.Ranks {
			return nil
		}
	}
	var nodes []string
	for _, name := range n.Nodes {
		if free[name] == 8 && !slices.Contains(off, name) && len(nodes) < int(n.Ranks) {
			nodes = append(nodes, name)
		}
	}
	if len(nodes) < int(n.Ranks) {
		return nil
	}
	return nodes
}

func (w *environment) gang(ref preemption.Ref) *simulated {
	i := slices.IndexFunc(w.gangs, func(g *simulated) bool { return g.Ref == ref })
	return w.gangs[i]
}

// TestLargeGangStarts: small gangs fill each node as soon as it is free. A large gang starts only if its
// class reserves.
func TestLargeGangStarts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		after  time.Duration
		starts bool
	}{
		"reserves":      {"its nodes are kept while the small gangs on them end", step, true},
		"does not":      {"six nodes are never free at once", 0, false},
		"after a month": {"it has not waited long enough", 30 * 24 * time.Hour, false},
	} {
		w := newEnvironment(t, 1, map[string]int{})
		w.policy = policy
		large := &simulated{work: step, Waiting: Waiting{
			Ref: ref("large"), Since: now, Blocked: now, ReserveAfter: tc.after, KeepsOff: true,
			Needs: []preemption.Need{{Ranks: 6, Requests: scheduler.Amounts{gpu: 8}}},
		}}
		var names []string
		for i := range 12 {
			names = append(names, nodeName(i))
		}
		large.Needs[0].Nodes = names
		started := false
		for i := range 200 {
			w.now = w.now.Add(step)
			for _, g := range slices.Clone(w.gangs) {
				if g.running && w.now.Sub(g.began) >= g.work {
					w.end(g)
				}
			}
			for range 3 { // more small gangs than nodes
				w.added++
				g := &simulated{work: time.Duration(4+w.added%5) * step}
				g.forecast = g.work
				g.Waiting = Waiting{Ref: ref(fmt.Sprint("small-", w.added)), Since: w.now, Blocked: w.now, KeepsOff: true,
					Needs: []preemption.Need{{Ranks: 1, Requests: scheduler.Amounts{gpu: 8}, Nodes: names}}}
				w.gangs = append(w.gangs, g)
			}
			if i == 20 {
				w.gangs = append(w.gangs, large)
			}
			s := w.snapshot()
			r := w.policy.Pass(s)
			w.write(&r)
			w.schedule(&r)
			started = started || large.running
		}
		if started != tc.starts {
			t.Errorf("%s: the large gang starts: %t, want %t: %s", name, started, tc.starts, tc.reason)
		}
	}
}
