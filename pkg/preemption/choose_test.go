package preemption

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestInvariants checks the invariants of choices in many random clusters, and of the choices that follow.
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[Outcome]int{}
	for range 10_000 {
		w := randomSnapshot(r, 4+r.IntN(10), 1+r.IntN(4))
		first := policy.Choose(w)
		for _, c := range first {
			seen[c.Outcome]++
		}
		check(t, w, first)
		// The next pass, with the first plans outstanding: a later gang may use what they free.
		for _, c := range first[:r.IntN(len(first)+1)] {
			if c.Outcome == Planned {
				w.Plans = append(w.Plans, c.Plan)
			}
		}
		check(t, w, policy.Choose(w))
	}
	t.Log(seen)
	for _, outcome := range []Outcome{Planned, Patience, Fits, OnlyProtected, NoCover} {
		if seen[outcome] < 100 {
			t.Errorf("%s was seen %d times", outcome, seen[outcome])
		}
	}
}

func check(t *testing.T, w Snapshot, choices []Choice) {
	t.Helper()
	running, waiting := map[Ref]Running{}, map[Ref]Waiting{}
	for _, g := range w.Running {
		running[g.Ref] = g
	}
	for _, g := range w.Waiting {
		waiting[g.Ref] = g
	}
	plans, has := append([]Plan(nil), w.Plans...), map[Ref]bool{}
	for _, c := range choices {
		if c.Outcome == Planned {
			plans = append(plans, c.Plan)
			checkTimes(t, waiting[c.For], c.Plan, running)
		}
		if c.Outcome != Planned && len(c.Plan.Victims) > 0 {
			t.Fatalf("%s with victims: %+v", c.Outcome, c)
		}
	}
	left := map[string]scheduler.Amounts{}
	for _, n := range w.Nodes {
		left[n.Name] = scheduler.Amounts{gpu: n.Free[gpu], cpu: n.Free[cpu]}
	}
	for _, plan := range plans {
		for _, v := range plan.Victims {
			g := running[v.Ref]
			if has[v.Ref] {
				t.Fatalf("%s is in two plans: %+v", v.UID, w)
			}
			has[v.Ref] = true
			if g.Value >= waiting[plan.For].Value || g.Foreign {
				t.Fatalf("%+v yields to a gang of value %d", g, waiting[plan.For].Value)
			}
			for node, amounts := range g.Holds {
				for name, n := range amounts {
					left[node][name] += n
				}
			}
		}
		checkClaim(t, waiting[plan.For], plan, left)
	}
}

// checkClaim subtracts a plan's claim from the free amounts, and requires it to cover all needs of the gang.
func checkClaim(t *testing.T, of Waiting, plan Plan, left map[string]scheduler.Amounts) {
	t.Helper()
	wanted := scheduler.Amounts{}
	for _, n := range of.Needs {
		for name, amount := range n.Requests {
			wanted[name] += n.Ranks * amount
		}
	}
	claimed, budgeted := scheduler.Amounts{}, scheduler.Amounts{}
	for node, amounts := range plan.Claim {
		for name, n := range amounts {
			claimed[name] += n
			if left[node][name] -= n; left[node][name] < 0 {
				t.Fatalf("%d too many of %s are claimed on %s: %+v", -left[node][name], name, node, plan)
			}
			if node == quota {
				budgeted[name] += n
				claimed[name] -= n // a budget
			}
		}
	}
	if diff := cmp.Diff(wanted, claimed); diff != "" {
		t.Fatalf("needed and claimed (-needed +claimed):\n%s", diff)
	}
	if want := wanted[gpu]; len(of.Within) > 0 && budgeted[gpu] != want || budgeted[cpu] > 0 {
		t.Fatalf("%v claimed of the quota, which limits GPUs, want %d", budgeted, want)
	}
}

func checkTimes(t *testing.T, of Waiting, plan Plan, running map[Ref]Running) {
	t.Helper()
	if !plan.Deadline.Equal(now.Add(of.MaxDelay)) {
		t.Fatalf("the deadline is %s", plan.Deadline)
	}
	for _, v := range plan.Victims {
		g := running[v.Ref]
		if (v.Mode == Save) != !v.Ask.IsZero() {
			t.Fatalf("%s, asked at %s", v.Mode, v.Ask)
		}
		if !v.Ask.IsZero() && (v.Ask.Before(now) || v.Ask.After(plan.Deadline)) {
			t.Fatalf("asked at %s", v.Ask)
		}
		if v.Lost > policy.LossCap || v.GPUSeconds < 0 {
			t.Fatalf("priced %+v", v.Price)
		}
		if policy.protected(&g, now) && now.Before(of.Blocked.Add(of.MaxDelay/2)) {
			t.Fatalf("%+v is protected", g)
		}
	}
}

// full returns one node with a gang of 8 GPUs for each gang.
func full(gangs ...Running) Snapshot {
	w := Snapshot{Now: now}
	for _, g := range gangs {
		node := "node-of-" + string(g.UID)
		g.Attempt, g.Holds = 1, map[string]scheduler.Amounts{}
		hold(&g, node, 8)
		w.Nodes = append(w.Nodes, Node{Name: node, Free: scheduler.Amounts{gpu: 0, cpu: 0}})
		w.Running = append(w.Running, g)
	}
	return w
}

func (w Snapshot) waits(name string, value int32, ranks int64, blocked time.Duration) Snapshot {
	g := Waiting{Ref: Ref{UID: types.UID(name), Attempt: 1}, Value: value, Since: now.Add(-blocked),
		Blocked: now.Add(-blocked), MaxDelay: 2 * time.Minute}
	n := Need{Ranks: ranks, Requests: scheduler.Amounts{gpu: 8}}
	for _, node := range w.Nodes {
		n.Nodes = append(n.Nodes, node.Name)
	}
	g.Needs = []Need{n}
	w.Waiting = append(w.Waiting, g)
	return w
}

// old returns a gang that has run long enough to be preempted and reported a second ago.
func old(name string, value int32, unsaved time.Duration) Running {
	return Running{
		Ref: Ref{UID: types.UID(name)}, Value: value, Began: now.Add(-5 * time.Hour), Saved: now.Add(-unsaved),
		Reported: now.Add(-time.Second), Save: 20 * time.Second, Start: time.Minute, Grace: 30 * time.Second}
}

func TestChoose(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	mute := func(g Running) Running { g.Reported = time.Time{}; return g }
	young := func(g Running) Running { g.Began = now.Add(-minute); return g }
	for name, test := range map[string]struct {
		cluster Snapshot
		outcome Outcome
		victims []string
	}{
		"the least valuable, at any cost": {
			full(old("low", 1, hour), mute(old("lowest", 0, hour)), old("other", 1, 0)).waits("w", 5, 1, minute),
			Planned, []string{"lowest"},
		},
		"of equals the cheapest": {
			full(mute(old("a", 1, 50*minute)), mute(old("b", 1, 10*minute)), mute(old("c", 1, 30*minute))).
				waits("w", 5, 2, minute),
			Planned, []string{"b", "c"},
		},
		"asking is cheaper than killing": {
			full(mute(old("mute", 1, minute)), old("listens", 1, hour)).waits("w", 5, 1, minute),
			Planned, []string{"listens"},
		},
		"not one of its own value": {
			full(old("a", 5, 0), old("b", 6, 0)).waits("w", 5, 1, minute), NoCover, nil,
		},
		"not enough": {full(old("a", 1, 0), old("b", 5, 0)).waits("w", 5, 2, minute), NoCover, nil},
		"protected, at first": {
			full(young(old("a", 1, 0))).waits("w", 5, 1, 50*time.Second), OnlyProtected, nil,
		},
		"protected no longer": {
			full(young(old("a", 1, 0))).waits("w", 5, 1, minute), Planned, []string{"a"},
		},
		"has not waited long": {full(old("a", 1, 0)).waits("w", 5, 1, time.Second), Patience, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := policy.Choose(test.cluster)[0]
			var victims []string
			for _, v := range c.Plan.Victims {
				victims = append(victims, string(v.UID))
			}
			if diff := cmp.Diff(test.victims, victims); c.Outcome != test.outcome || diff != "" {
				t.Errorf("%s, want %s; victims (-want +got):\n%s", c.Outcome, test.outcome, diff)
			}
		})
	}
}

// TestTwoWait: the second gang gets what the first leaves, and both keep their plans in the next pass.
func TestTwoWait(t *testing.T) {
	w := full(old("a", 1, 0), old("b", 2, 0)).
		waits("second", 5, 1, 2*time.Minute).waits("first", 6, 1, time.Minute)
	choices := policy.Choose(w)
	if len(choices) != 2 || choices[0].For.UID != "first" || choices[0].Plan.Victims[0].UID != "a" ||
		choices[1].Plan.Victims[0].UID != "b" {
		t.Fatalf("%+v", choices)
	}
	w.Plans = []Plan{choices[0].Plan}
	if again := policy.Choose(w); len(again) != 1 || again[0].Plan.Victims[0].UID != "b" {
		t.Errorf("%+v", again)
	}
	bounded := policy
	bounded.MaxPlans = 1
	w.Plans = nil
	if choices := bounded.Choose(w); choices[0].Outcome != Planned || choices[1].Outcome != Busy {
		t.Errorf("%+v", choices)
	}
}

// TestReadyTogether: the victim with the longest save is asked first, and all have the same deadline.
func TestReadyTogether(t *testing.T) {
	slow, fast := old("slow", 1, 0), old("fast", 1, 0)
	slow.Save, fast.Save = 30*time.Second, 10*time.Second
	plan := policy.Choose(full(slow, fast).waits("w", 5, 2, time.Minute))[0].Plan
	asked := map[string]time.Duration{}
	for _, v := range plan.Victims {
		asked[string(v.UID)] = v.Ask.Sub(now)
	}
	if diff := cmp.Diff(map[string]time.Duration{"slow": 0, "fast": 20 * time.Second}, asked); diff != "" {
		t.Error(diff)
	}
}
