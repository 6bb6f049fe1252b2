package preemption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// racked returns a cluster of racks of two nodes, and a gang that needs both nodes of one rack.
func racked(racks int) Snapshot {
	w := Snapshot{Now: now, Waiting: []Waiting{{
		Ref: Ref{UID: "w", Attempt: 1}, Value: 100, Since: now.Add(-time.Hour), Blocked: now.Add(-time.Hour),
		MaxDelay: 2 * time.Minute, Needs: []Need{{Ranks: 2, Requests: scheduler.Amounts{gpu: 8}}},
	}}}
	gang := &w.Waiting[0]
	for i := range racks {
		d := Domain{Name: fmt.Sprint("rack-", i)}
		for j := range 2 {
			name := fmt.Sprintf("node-%d-%d", i, j)
			w.Nodes = append(w.Nodes, Node{Name: name, Free: scheduler.Amounts{gpu: 8}})
			d.Nodes = append(d.Nodes, name)
			gang.Needs[0].Nodes = append(gang.Needs[0].Nodes, name)
		}
		gang.Domains = append(gang.Domains, d)
	}
	return w
}

// occupy lets a gang hold GPUs of nodes.
func (w *Snapshot) occupy(g Running, gpus int64, nodes ...string) {
	g.Holds = map[string]scheduler.Amounts{}
	for _, name := range nodes {
		hold(&g, name, gpus)
		i := slices.IndexFunc(w.Nodes, func(n Node) bool { return n.Name == name })
		w.Nodes[i].Free[gpu] -= gpus
	}
	w.Running = append(w.Running, g)
}

// silent is an old gang that does not report, and so cannot be asked to save.
func silent(name string, value int32, unsaved time.Duration) Running {
	g := old(name, value, unsaved)
	g.Reported = time.Time{}
	return g
}

func victimsOf(p Plan) []string {
	var names []string
	for _, v := range p.Victims {
		names = append(names, string(v.UID))
	}
	slices.Sort(names)
	return names
}

func TestChooseDomain(t *testing.T) {
	const minute = time.Minute
	for name, tc := range map[string]struct {
		reason  string
		cluster func() Snapshot
		outcome Outcome
		domain  string
		victims []string
	}{
		"a free node in each rack": {
			reason: "they do not fit into one, and the cheaper rack yields",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("dear", 1, 20*minute), 8, "node-0-0")
				w.occupy(silent("cheap", 1, minute), 8, "node-1-0")
				return w
			},
			outcome: Planned, domain: "rack-1", victims: []string{"cheap"},
		},
		"a free rack": {
			reason: "the scheduler uses it",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("a", 1, minute), 8, "node-0-0")
				return w
			},
			outcome: Fits, domain: "rack-1",
		},
		"two cheap victims or an expensive one": {
			reason: "the sum counts",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("one", 1, 30*minute), 8, "node-0-0", "node-0-1")
				w.occupy(silent("a", 1, minute), 8, "node-1-0")
				w.occupy(silent("b", 1, minute), 8, "node-1-1")
				return w
			},
			outcome: Planned, domain: "rack-1", victims: []string{"a", "b"},
		},
		"a cheap victim of a higher value": {
			reason: "the value comes before the cost, as without domains",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("low", 1, 30*minute), 8, "node-0-0")
				w.occupy(silent("high", 2, minute), 8, "node-1-0")
				return w
			},
			outcome: Planned, domain: "rack-0", victims: []string{"low"},
		},
		"a victim in two racks": {
			reason: "only its part in the rack counts",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("spread", 1, minute), 8, "node-0-0", "node-1-0")
				w.occupy(silent("more", 1, minute), 8, "node-1-1")
				return w
			},
			outcome: Planned, domain: "rack-0", victims: []string{"spread"},
		},
		"a rack that cannot be freed": {
			reason: "a gang of the same value holds it",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("equal", 100, minute), 8, "node-0-0")
				w.occupy(silent("low", 1, 50*minute), 8, "node-1-0")
				return w
			},
			outcome: Planned, domain: "rack-1", victims: []string{"low"},
		},
		"no rack can be freed": {
			reason: "each has a node that cannot",
			cluster: func() Snapshot {
				w := racked(2)
				w.occupy(silent("a", 100, minute), 8, "node-0-0")
				w.occupy(silent("b", 100, minute), 8, "node-1-0")
				w.occupy(silent("low", 1, minute), 8, "node-0-1", "node-1-1")
				return w
			},
			outcome: NoCover,
		},
		"no domain": {
			reason: "none is large enough",
			cluster: func() Snapshot {
				w := racked(2)
				w.Waiting[0].Domains = []Domain{}
				return w
			},
			outcome: NoCover,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := policy.Choose(tc.cluster())[0]
			if got.Outcome != tc.outcome || got.Plan.Domain != tc.domain {
				t.Errorf("%s: %s in %q, want %s in %q", tc.reason, got.Outcome, got.Plan.Domain, tc.outcome, tc.domain)
			}
			if diff := cmp.Diff(tc.victims, victimsOf(got.Plan)); diff != "" {
				t.Errorf("%s: victims (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPlansFreeOneDomain checks in random clusters that a plan has victims in its domain alone, that the gang
// then fits there, and that no other domain is cheaper.
func TestPlansFreeOneDomain(t *testing.T) {
	planned := 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := racked(2 + r.IntN(5))
		cheapest, cost := "", time.Duration(0)
		for i, d := range w.Waiting[0].Domains {
			unsaved := time.Duration(1+r.IntN(50)) * time.Minute
			for j, node := range d.Nodes {
				w.occupy(silent(fmt.Sprintf("%d-%d", i, j), 1, unsaved), 8, node)
			}
			if cheapest == "" || unsaved < cost {
				cheapest, cost = d.Name, unsaved
			}
		}
		c := policy.Choose(w)[0]
		if c.Outcome != Planned || len(c.Plan.Victims) != 2 {
			t.Fatalf("seed %d: %s with %v", seed, c.Outcome, victimsOf(c.Plan))
		}
		planned++
		i := slices.IndexFunc(w.Waiting[0].Domains, func(d Domain) bool { return d.Name == c.Plan.Domain })
		for node := range c.Plan.Claim {
			if i < 0 || !slices.Contains(w.Waiting[0].Domains[i].Nodes, node) {
				t.Errorf("seed %d: the plan for %q claims %s", seed, c.Plan.Domain, node)
			}
		}
		for _, v := range c.Plan.Victims {
			if string(v.UID)[0] != c.Plan.Domain[len("rack-")] {
				t.Errorf("seed %d: %s yields in the plan for %s", seed, v.UID, c.Plan.Domain)
			}
		}
		if c.Plan.Domain != cheapest && c.Plan.Victims[0].Lost > 2*cost {
			t.Errorf("seed %d: the plan frees %s, and %s is cheaper", seed, c.Plan.Domain, cheapest)
		}
	}
	if planned == 0 {
		t.Error("no plan")
	}
}

// TestAdvanceInDomain: a plan goes on in its domain, and another round may free another one.
func TestAdvanceInDomain(t *testing.T) {
	w := racked(2)
	w.occupy(silent("dear", 1, 20*time.Minute), 8, "node-0-0")
	w.occupy(silent("cheap", 1, time.Minute), 8, "node-1-0")
	plan := policy.Choose(w)[0].Plan
	w.Plans = []Plan{plan}
	claim := w.ClaimOf(plan, &w.Waiting[0])
	if diff := cmp.Diff(plan.Claim, claim); diff != "" || len(claim) != 2 {
		t.Errorf("a restored claim (-planned +restored):\n%s", diff)
	}
	if w.FitsSoon(&w.Waiting[0]) {
		t.Error("it does not fit without the victim: the free nodes are in two racks")
	}
	w.Running = w.Running[:1] // the victim has ended
	w.Nodes[2].Free[gpu] = 8
	plan.Phase = Releasing
	step := policy.Advance(w, plan)
	if step.Plan.Phase != Placing || step.Ended != "" {
		t.Errorf("with a free rack: %s %s, want Placing", step.Plan.Phase, step.Ended)
	}
	w.Nodes[2].Free[gpu] = 0 // another pod takes it
	plan = step.Plan
	if step = policy.Advance(w, plan); step.Plan.Round != 2 || step.Plan.Domain != "rack-0" {
		t.Errorf("after a theft: round %d in %q, want round 2 in rack-0", step.Plan.Round, step.Plan.Domain)
	}
}

// BenchmarkChooseDomain: 64 full domains of 16 nodes, of which the 32 are searched that package scheduler
// offers.
func BenchmarkChooseDomain(b *testing.B) {
	w := crowded(rand.New(rand.NewPCG(5, 6)), 1024)
	n := Need{Ranks: 8, Requests: scheduler.Amounts{gpu: 8, cpu: 8000}}
	gang := Waiting{
		Ref: Ref{UID: "w", Attempt: 1}, Value: 100, Since: now.Add(-time.Hour), Blocked: now.Add(-time.Hour),
		MaxDelay: 2 * time.Minute,
	}
	for i := range 64 {
		d := Domain{Name: fmt.Sprint("rack-", i)}
		for j := range 16 {
			d.Nodes = append(d.Nodes, w.Nodes[16*i+j].Name)
		}
		n.Nodes = append(n.Nodes, d.Nodes...)
		if i < 32 {
			gang.Domains = append(gang.Domains, d)
		}
	}
	gang.Needs = []Need{n}
	w.Waiting = []Waiting{gang}
	for b.Loop() {
		if c := policy.Choose(w)[0]; c.Outcome != Planned {
			b.Fatal(c.Outcome)
		}
	}
}
