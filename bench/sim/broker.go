package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// epoch is the time 0 of a simulation.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// plan has the planner advance what is outstanding, and choose for who else waits.
func (p *simulation) plan() {
	if len(p.plans) == 0 && !slices.ContainsFunc(p.waiting, p.mayPlan) {
		return
	}
	for i := 0; i < len(p.plans); {
		step := p.way.Policy.Advance(p.snapshot(), p.plans[i])
		if step.Ended != "" {
			p.close(step)
			p.plans = slices.Delete(p.plans, i, i+1)
			continue
		}
		p.plans[i] = step.Plan
		p.carryOut(step)
		i++
	}
	for _, c := range p.way.Policy.Choose(p.snapshot()) {
		if c.Outcome == preemption.Planned {
			p.plans = append(p.plans, c.Plan)
			p.waitingFor(c.Plan.For).planned = p.now
			p.at(p.now, func() {}) // the next pass carries it out
			p.result.Plans++
		}
		if !c.Again.IsZero() {
			p.at(c.Again.Sub(epoch), func() {})
		}
	}
}

func (p *simulation) mayPlan(w *waiting) bool {
	return w.Value == High && w.blocked >= 0 && !w.handedOver
}

// carryOut what is due, and reserve the capacity that the plan frees.
func (p *simulation) carryOut(step preemption.Step) {
	w := p.waitingFor(step.Plan.For)
	w.claim = map[int]int{}
	for i, name := range p.names {
		if n := step.Plan.Claim[name][gpu]; n > 0 {
			w.claim[i] = int(n / w.GPUs)
		}
	}
	for _, ref := range step.Yield {
		p.yield(w, &step.Plan, ref)
	}
	if !step.Again.IsZero() {
		p.at(step.Again.Sub(epoch), func() {})
	}
	for _, v := range step.Plan.Victims {
		if r := p.running[idOf(v.Ref)]; v.Mode == preemption.NextCheckpoint && r != nil {
			p.at(p.nextSave(r), func() {})
		}
	}
}

// yield ends a victim: after a save where it is asked for one, which it hears of within a heartbeat, but by
// the plan's deadline.
func (p *simulation) yield(w *waiting, plan *preemption.Plan, ref preemption.Ref) {
	r := p.running[idOf(ref)]
	if r == nil || r.asked >= 0 {
		return
	}
	p.ending[r.ID] = w
	i := slices.IndexFunc(plan.Victims, func(v preemption.Victim) bool { return v.Ref == ref })
	if plan.Victims[i].Mode == preemption.Save {
		p.result.Asked++
		from := p.now + time.Duration(p.random.Float64()*float64(p.way.Policy.Heartbeat))
		p.saveAndEnd(r, from, plan.Deadline.Sub(epoch))
		return
	}
	p.kill(r)
}

func (p *simulation) close(step preemption.Step) {
	if w := p.waitingFor(step.Plan.For); w != nil && step.Ended == preemption.HandedOver {
		w.claim, w.handedOver = nil, true
		p.result.HandedOver++
	}
}

func (p *simulation) waitingFor(ref preemption.Ref) *waiting {
	i := slices.IndexFunc(p.waiting, func(w *waiting) bool { return w.ref() == ref })
	if i < 0 {
		return nil
	}
	return p.waiting[i]
}

func (w *waiting) ref() preemption.Ref { return refOf(w.ID, w.attempts+1) }

func refOf(id int, attempt int32) preemption.Ref {
	return preemption.Ref{UID: types.UID(strconv.Itoa(id)), Attempt: attempt}
}

// idOf a job; an UID is its number.
func idOf(ref preemption.Ref) int {
	id, err := strconv.Atoi(string(ref.UID))
	if err != nil { // refOf makes all of them
		panic(err)
	}
	return id
}

func (p *simulation) nextSave(r *run) time.Duration {
	last := r.lastSave(p.now)
	if last == r.began {
		last = r.trains()
	}
	return last + r.Interval + r.Save
}

// snapshot for the planner.
func (p *simulation) snapshot() preemption.Snapshot {
	s := preemption.Snapshot{Now: epoch.Add(p.now), Plans: p.plans}
	for i, free := range p.free {
		s.Nodes = append(s.Nodes, preemption.Node{Name: p.names[i], Free: scheduler.Amounts{gpu: free}})
	}
	for _, id := range sortedKeys(p.running) {
		s.Running = append(s.Running, p.describe(p.running[id]))
	}
	for _, w := range p.waiting {
		if p.mayPlan(w) {
			s.Waiting = append(s.Waiting, preemption.Waiting{
				Ref: w.ref(), Value: w.Value, Since: epoch.Add(w.Arrives), Blocked: epoch.Add(w.blocked),
				MaxDelay: p.way.MaxDelay,
				Needs: []preemption.Need{{
					Ranks: int64(w.Ranks), Requests: scheduler.Amounts{gpu: w.GPUs}, Nodes: p.names,
				}},
			})
		}
	}
	return s
}

func (p *simulation) describe(r *run) preemption.Running {
	g := preemption.Running{
		Ref: refOf(r.ID, p.attempt[r.ID]), Value: r.Value, GPUs: r.Total(), Ending: r.asked >= 0,
		Holds: r.holds, Began: epoch.Add(r.began), Saved: epoch.Add(r.lastSave(p.now)),
		Save: r.Save, Start: r.Start, Grace: max(r.Save, 30*time.Second), NextSave: epoch.Add(p.nextSave(r)),
		End: epoch.Add(r.finishes()), AskFailed: !r.Listens || p.way.MaxDelay == 0,
	}
	if r.Listens {
		g.Reported = epoch.Add(p.now)
	}
	return g
}

// holds of ranks on nodes, for the planner.
func (p *simulation) holds(on map[int]int, gpus int64) map[string]scheduler.Amounts {
	held := map[string]scheduler.Amounts{}
	for i, ranks := range on {
		held[p.names[i]] = scheduler.Amounts{gpu: int64(ranks) * gpus}
	}
	return held
}
