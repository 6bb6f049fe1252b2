package preemption

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// played is a cluster in which one plan is carried out, in steps of a second.
type played struct {
	t    *testing.T
	w    Snapshot
	plan Plan
	// ends is when the last pod of a yielding gang ends; mute are the gangs that never save.
	ends map[Ref]time.Time
	mute map[Ref]bool
	// asked holds when each gang was ordered to yield.
	asked map[Ref]time.Time
	end   End
}

func play(t *testing.T, w Snapshot) *played {
	t.Helper()
	c := policy.Choose(w)[0]
	if c.Outcome != Planned {
		t.Fatalf("the outcome is %s", c.Outcome)
	}
	w.Plans = []Plan{c.Plan}
	return &played{t: t, w: w, plan: c.Plan, ends: map[Ref]time.Time{}, mute: map[Ref]bool{},
		asked: map[Ref]time.Time{}}
}

// tick advances the plan by a second.
func (p *played) tick() {
	p.t.Helper()
	step := policy.Advance(p.w, p.plan)
	p.w.Plans = []Plan{step.Plan}
	if again := policy.Advance(p.w, step.Plan); step.Ended == "" {
		if diff := cmp.Diff(step, again); diff != "" {
			p.t.Fatalf("the same moment again (-first +second):\n%s", diff)
		}
	}
	p.plan, p.end = step.Plan, step.Ended
	if p.end != "" && len(step.Yield) > 0 {
		p.t.Fatalf("%s, and %v must yield", p.end, step.Yield)
	}
	for _, ref := range step.Yield {
		p.yield(ref)
	}
	p.w.Now = p.w.Now.Add(time.Second)
	p.w.Running = slices.Clone(p.w.Running)
	for i := range p.w.Running {
		p.w.Running[i].Reported = p.w.Now
	}
	for ref, at := range p.ends {
		if !at.After(p.w.Now) {
			p.drop(ref)
		}
	}
}

// yield makes a gang save and end. A gang that does not save ends after its grace, or at the deadline.
func (p *played) yield(ref Ref) {
	p.t.Helper()
	i := slices.IndexFunc(p.plan.Victims, func(v Victim) bool { return v.Ref == ref })
	if i < 0 {
		p.t.Fatalf("%s yields, and is not a victim", ref.UID)
	}
	g := p.w.running(ref)
	v := &p.plan.Victims[i]
	early := v.Mode == NextCheckpoint && g.Saved.After(p.plan.Began)
	if p.w.Now.Before(p.plan.due(v)) && !early {
		p.t.Fatalf("%+v yields at %s", v, p.w.Now)
	}
	p.asked[ref] = p.w.Now
	takes := save(g)
	if p.mute[ref] {
		takes = policy.Heartbeat + g.Grace
	}
	if v.Mode == Kill {
		takes = 0
	}
	g.Ending, p.ends[ref] = true, earlier(p.w.Now.Add(takes), p.plan.Deadline.Add(time.Second))
}

// drop a gang and free what it held.
func (p *played) drop(ref Ref) {
	delete(p.ends, ref)
	g := p.w.running(ref)
	if g == nil {
		return
	}
	p.free(g.Holds, 1)
	p.w.Running = slices.DeleteFunc(p.w.Running, func(o Running) bool { return o.Ref == ref })
}

func (p *played) free(by map[string]scheduler.Amounts, sign int64) {
	p.w.Nodes = slices.Clone(p.w.Nodes)
	for i, n := range p.w.Nodes {
		free := scheduler.Amounts{gpu: n.Free[gpu], cpu: n.Free[cpu]}
		for name, amount := range by[n.Name] {
			free[name] += sign * amount
		}
		p.w.Nodes[i].Free = free
	}
}

// until a condition holds, for at most ten minutes.
func (p *played) until(what string, is func() bool) {
	p.t.Helper()
	for range 600 {
		if is() {
			return
		}
		p.tick()
	}
	p.t.Fatalf("not %s: %+v", what, p.plan)
}

func (p *played) phase(phase Phase) { p.t.Helper(); p.until(string(phase), p.in(phase)) }

func (p *played) in(phase Phase) func() bool {
	return func() bool { return p.plan.Phase == phase || p.end != "" }
}

func (p *played) ended() bool { return p.end != "" }

func TestVictimsAreReadyTogether(t *testing.T) {
	slow, fast := old("slow", 1, time.Hour), old("fast", 1, time.Hour)
	slow.Save, fast.Save = 30*time.Second, 10*time.Second
	p := play(t, full(slow, fast).waits("w", 5, 2, time.Minute))
	p.phase(Placing)
	if p.end != "" || len(p.w.Running) > 0 {
		t.Fatalf("%s, %v run", p.end, p.w.Running)
	}
	if d := p.asked[Ref{"fast", 1}].Sub(p.asked[Ref{"slow", 1}]); d != 20*time.Second {
		t.Errorf("the fast one was asked %s after the slow one", d)
	}
	p.w.Waiting = nil // it was placed
	if p.tick(); p.end != Closed {
		t.Errorf("the end is %q", p.end)
	}
}

func TestUnplacedGangIsHandedOver(t *testing.T) {
	p := play(t, full(old("a", 1, 0)).waits("w", 5, 1, time.Minute))
	p.phase(Placing)
	placing := p.plan.Since
	p.until("handed over", p.ended)
	if d := p.w.Now.Sub(placing); p.end != HandedOver || d < policy.Placing {
		t.Errorf("%s after %s", p.end, d)
	}
}

func TestRevoked(t *testing.T) {
	slow, fast := old("slow", 1, time.Hour), old("fast", 1, time.Hour)
	slow.Save, fast.Save = 30*time.Second, 10*time.Second
	p := play(t, full(slow, fast).waits("w", 5, 2, time.Minute))
	p.tick()
	p.w.Waiting = nil
	p.tick()
	if _, asked := p.asked[Ref{"fast", 1}]; p.end != Closed || asked {
		t.Errorf("%s, asked were %v", p.end, p.asked)
	}
}

// TestSparesUnneededVictims: a node is added while the first victim saves.
func TestSparesUnneededVictims(t *testing.T) {
	slow, fast := old("slow", 1, time.Hour), old("fast", 1, time.Hour)
	slow.Save, fast.Save = 30*time.Second, 10*time.Second
	p := play(t, full(slow, fast).waits("w", 5, 2, time.Minute))
	p.tick()
	p.free(map[string]scheduler.Amounts{"node-of-fast": {gpu: 8}}, 1)
	p.phase(Placing)
	if _, asked := p.asked[Ref{"fast", 1}]; asked || len(p.plan.Victims) != 1 {
		t.Errorf("asked were %v", p.asked)
	}
}

func TestSilentTrainerIsEnded(t *testing.T) {
	p := play(t, full(old("a", 1, time.Hour)).waits("w", 5, 1, time.Minute))
	p.mute[Ref{"a", 1}] = true
	p.phase(Placing)
	if p.w.Now.After(p.plan.Deadline) {
		t.Errorf("at %s, after the deadline", p.w.Now)
	}
}

// TestCapacityIsStolen: other pods take the capacity, and another round begins, until the rounds or the time
// are over.
func TestCapacityIsStolen(t *testing.T) {
	a, b := old("a", 1, 0), old("b", 1, 0)
	a.Save, b.Save = time.Second, 2*time.Second
	p := play(t, full(a, b).waits("w", 5, 1, time.Minute))
	p.phase(Placing)
	p.free(map[string]scheduler.Amounts{"node-of-a": {gpu: 8}}, -1)
	p.until("in round 2", func() bool { return p.plan.Round == 2 || p.end != "" })
	if p.end != "" || p.plan.Phase != Asking || p.plan.Deadline != now.Add(2*time.Minute) {
		t.Fatalf("%s %+v", p.end, p.plan)
	}
	p.phase(Placing)
	p.free(map[string]scheduler.Amounts{"node-of-b": {gpu: 8}}, -1)
	p.until("handed over", p.ended)
	if p.end != HandedOver {
		t.Error(p.end)
	}
}

// TestNextCheckpoint: a victim that takes no requests ends right after its own save, or at the deadline.
func TestNextCheckpoint(t *testing.T) {
	for name, saves := range map[string]bool{"saves": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			g := old("a", 1, time.Hour)
			g.AskFailed, g.NextSave = true, now.Add(40*time.Second)
			p := play(t, full(g).waits("w", 5, 1, time.Minute))
			if saves {
				p.until("at its save", func() bool { return p.w.Now.Equal(g.NextSave) })
				p.w.Running[0].Saved = p.w.Now
			}
			p.phase(Placing)
			late := p.asked[Ref{"a", 1}].Sub(g.NextSave)
			if saves && late > time.Second || !saves && p.asked[Ref{"a", 1}] != p.plan.Deadline {
				t.Errorf("ended %s after its save", late)
			}
		})
	}
}

// TestPlansEnd plays random plans while gangs fail, nodes are taken, and preemptors are revoked. No plan
// outlives its bound or has too many rounds; tick and yield check the other invariants.
func TestPlansEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	ends, rounds := map[End]int{}, map[int]int{}
	for range 3000 {
		w := randomSnapshot(r, 4+r.IntN(8), 1)
		w.Waiting[0].Value = 5
		if policy.Choose(w)[0].Outcome != Planned {
			continue
		}
		p := play(t, w)
		for _, v := range p.plan.Victims {
			p.mute[v.Ref] = r.IntN(3) == 0
		}
		disturb := r.IntN(3) > 0
		for p.end == "" {
			p.tick()
			if disturb {
				p.disturb(r)
			}
			if p.plan.Phase == Placing && r.IntN(20) == 0 {
				p.w.Waiting = nil
			}
			if p.w.Now.After(p.plan.Deadline.Add(policy.Placing + 2*time.Second)) {
				t.Fatalf("the plan does not end: %+v", p.plan)
			}
		}
		ends[p.end]++
		rounds[p.plan.Round]++
	}
	t.Log(ends, rounds)
	if ends[Closed] < 100 || ends[HandedOver] < 100 || rounds[2] < 20 || rounds[policy.MaxRounds+1] > 0 {
		t.Error("too few plans ended each way, or there were too many rounds")
	}
}

// disturb: now and then a gang fails, a foreign pod takes a node, or the preemptor is revoked.
func (p *played) disturb(r *rand.Rand) {
	switch n := r.IntN(200); {
	case n == 0 && len(p.w.Running) > 0:
		p.drop(p.w.Running[r.IntN(len(p.w.Running))].Ref)
	case n < 4:
		node := p.w.Nodes[r.IntN(len(p.w.Nodes))]
		p.free(map[string]scheduler.Amounts{node.Name: node.Free}, -1)
	case n == 4:
		p.w.Waiting = nil
	}
}

func TestRoundsEnd(t *testing.T) {
	var gangs []Running
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		g := old(name, 1, 0)
		g.Save = time.Second
		gangs = append(gangs, g)
	}
	p := play(t, full(gangs...).waits("w", 5, 1, time.Minute))
	for round := 1; round <= policy.MaxRounds; round++ {
		p.until("placing in its round", func() bool {
			return p.plan.Round == round && p.plan.Phase == Placing || p.end != ""
		})
		if p.end != "" {
			t.Fatalf("%s in round %d", p.end, round)
		}
		for _, n := range p.w.Nodes {
			p.free(map[string]scheduler.Amounts{n.Name: n.Free}, -1)
		}
	}
	p.until("handed over", p.ended)
	if len(p.asked) != policy.MaxRounds || p.plan.Round != policy.MaxRounds {
		t.Errorf("%d gangs were ended in %d rounds", len(p.asked), p.plan.Round)
	}
}

// TestNodeIsLost while its gang yields: another victim replaces it, and the one that saves already counts.
func TestNodeIsLost(t *testing.T) {
	slow, fast, other := old("slow", 1, time.Hour), old("fast", 1, time.Hour), old("other", 1, time.Hour)
	slow.Save, fast.Save, other.Save = 30*time.Second, 10*time.Second, 30*time.Second
	other.Start = time.Hour // the most expensive
	w := full(slow, fast, other, old("last", 2, 0)).waits("w", 5, 2, time.Minute)
	p := play(t, w)
	p.tick()
	if _, asked := p.asked[Ref{"slow", 1}]; !asked || p.plan.Has(Ref{"other", 1}) {
		t.Fatalf("asked were %v for %+v", p.asked, p.plan)
	}
	p.drop(Ref{"fast", 1})
	p.w.Nodes = slices.DeleteFunc(slices.Clone(p.w.Nodes), func(n Node) bool { return n.Name == "node-of-fast" })
	p.phase(Placing)
	if !p.plan.Has(Ref{"slow", 1}) || !p.plan.Has(Ref{"other", 1}) || p.plan.Has(Ref{"last", 1}) ||
		p.plan.Round != 2 {
		t.Errorf("%+v", p.plan)
	}
}

// TestKilledWithTheOthers: a victim that does not save runs until the others are ready, and no longer.
func TestKilledWithTheOthers(t *testing.T) {
	saves, mute := old("saves", 1, time.Hour), old("mute", 1, time.Hour)
	mute.AskFailed = true
	p := play(t, full(saves, mute).waits("w", 5, 2, time.Minute))
	p.phase(Placing)
	if at := p.asked[Ref{"mute", 1}]; !at.Equal(now.Add(policy.Heartbeat + saves.Save)) {
		t.Errorf("it was ended at %s", at)
	}
}

// TestAskedVictimIsNotSpared: a victim whose time has come may have its request already.
func TestAskedVictimIsNotSpared(t *testing.T) {
	slow, fast := old("slow", 1, time.Hour), old("fast", 1, time.Hour)
	slow.Save, fast.Save = 30*time.Second, 10*time.Second
	p := play(t, full(slow, fast).waits("w", 5, 2, time.Minute))
	p.until("at its time", func() bool { return p.w.Now.Equal(now.Add(20 * time.Second)) })
	p.free(map[string]scheduler.Amounts{"node-of-fast": {gpu: 8}}, 1)
	p.tick()
	if _, asked := p.asked[Ref{"fast", 1}]; !asked {
		t.Error("it was spared")
	}
}
