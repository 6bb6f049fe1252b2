package contention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Gangs whose scheduler decides by quotas whom it ends, as Kueue does. Quotas, cohorts and borrowing stay its
// own; of those that it might end equally well the operator knows the cheapest. So the gang's gate is closed
// until the scheduler says that it would preempt; then those that it would end before the cheapest ones are
// marked as spared, and the gate is opened. The victims save as any gang does that the scheduler ends.

// mostContenders are looked at for one gang: those that its scheduler would end first. It bounds how many
// have to be marked.
const mostContenders = 32

// gated reports whether a gang's scheduler waits for the operator before it ends others for it.
func (j *Job) gated() bool { return j.Status.Scheduling != nil && j.Status.Scheduling.PreemptionGate }

// contests decides for the gangs behind a gate, those that come first in each queue.
type contests struct {
	*broker
	// taken are the queues of which a gang has its turn.
	taken map[string]bool
}

// advance says what becomes of a gang behind its gate; nil: nothing is to be said.
func (c *contests) advance(j *Job) *v1alpha1.PreemptionStatus {
	written := j.Status.Scheduling.Preemption
	switch {
	case written != nil && written.Phase == v1alpha1.PreemptionHandedOver, j.Contest == nil:
		return nil
	case !gateable(j):
		return c.pass(j, notPlanned)
	}
	if plan, ok := c.planOf(j); ok {
		c.taken[j.Contest.Queue] = true
		return c.carryOn(j, plan)
	}
	switch waited := c.now.Sub(j.Contest.GateSince.Time); {
	case j.Contest.Gate == scheduler.GateIgnored && waited >= sure:
		return c.pass(j, ignored)
	case j.Contest.Gate == scheduler.GateBlocks:
		return c.decide(j, waited)
	}
	return nil
}

// ignored: the scheduler takes no notice of gates.
const ignored = preemption.Outcome(v1alpha1.PreemptionGateIgnored)

// gateable reports whether the operator may have the scheduler wait for a gang, by what its class says now.
func gateable(j *Job) bool {
	return scheduler.Of(j.Backend).QuotaSystem != nil && j.Class.WaitingClass != ""
}

// planOf a gang: what its status holds, or is about to. One whose victims are not the same gangs any more is
// none, until the gate is open.
func (c *contests) planOf(j *Job) (preemption.Plan, bool) {
	plan, ok := planOf(j)
	if !ok {
		plan, ok = readPlan(j, j.Proposed)
	}
	if ok && plan.Phase == preemption.Asking {
		for _, v := range plan.Victims {
			if h := c.holderOf(v.Ref); h == nil || h.gang.Ending {
				return plan, false
			}
		}
	}
	return plan, ok
}

// decide who is to make room for a gang for which its scheduler would preempt.
func (c *contests) decide(j *Job, waited time.Duration) *v1alpha1.PreemptionStatus {
	snapshot := c.snapshot(j)
	switch {
	case waited >= snapshot.Waiting[0].MaxDelay: // it waits for nobody else
		return c.pass(j, preemption.Busy)
	case c.taken[j.Contest.Queue]:
		return c.sayBlocked(j, preemption.Busy)
	}
	c.taken[j.Contest.Queue] = true
	choice := c.policy.Choose(snapshot)[0]
	switch {
	case choice.Outcome != preemption.Fits && snapshot.FitsSoon(&snapshot.Waiting[0]):
		return c.sayBlocked(j, preemption.Busy) // some are ending already
	case choice.Outcome == preemption.Planned && len(choice.Plan.Victims) <= maxVictims:
		return c.sayPlan(j, asked(choice.Plan))
	case choice.Outcome == preemption.OnlyProtected, choice.Outcome == preemption.Patience, waited < sure:
		return c.sayBlocked(j, choice.Outcome)
	}
	return c.pass(j, choice.Outcome) // the scheduler knows better: it may borrow, or reclaim from others
}

// asked by their scheduler, when it ends them: no time is set for anybody.
func asked(plan preemption.Plan) preemption.Plan {
	for i := range plan.Victims {
		plan.Victims[i].Ask = time.Time{}
	}
	plan.Ready = time.Time{}
	return plan
}

// carryOn a plan that is written down: mark those to be spared, open the gate, and leave it to the scheduler.
func (c *contests) carryOn(j *Job, plan preemption.Plan) *v1alpha1.PreemptionStatus {
	elapsed := c.now.Sub(plan.Since)
	enter := func(phase preemption.Phase) {
		plan.Phase, plan.Since = phase, c.now
	}
	switch plan.Phase {
	case preemption.Asking:
		if _, written := planOf(j); !written {
			break // nobody acts on it before
		}
		spared := c.spared(j, &plan)
		marked := !slices.ContainsFunc(spared, func(h *holder) bool { return !h.job.Contest.Spared })
		if c.orders.spare(spared); marked || elapsed >= sure {
			enter(preemption.Releasing)
		}
	case preemption.Releasing:
		preempted, left := c.preempted(j), c.left(&plan)
		if c.overrules(j, &plan) {
			c.orders.Overruled[j.ref()] = true
		}
		switch {
		case left < len(plan.Victims) && !preempted:
			enter(preemption.Placing)
		case preempted: // it is decided who goes
		case elapsed >= c.policy.Placing:
			return c.pass(j, preemption.Planned)
		default:
			c.orders.spare(c.spared(j, &plan))
		}
	case preemption.Placing:
		if c.preempted(j) {
			enter(preemption.Releasing) // others go as well
		} else if elapsed >= c.policy.Placing {
			return c.pass(j, preemption.Planned)
		}
	}
	return c.sayPlan(j, plan)
}

// spared are the gangs that the scheduler would end before some victim of a plan, though they are of the same
// value. It ends those of a lower value first in any case, and takes back what is not needed.
func (c *contests) spared(j *Job, plan *preemption.Plan) []*holder {
	all, last := c.contenders(j), -1
	for i, h := range all {
		if plan.Has(h.gang.Ref) {
			last = i
		}
	}
	var spared []*holder
	for i, h := range all {
		if i < last && h.job.Value == all[last].job.Value && !plan.Has(h.gang.Ref) && !h.gang.Ending {
			spared = append(spared, h)
		}
	}
	return spared
}

// preempted reports whether the scheduler is ending anybody of the gang's queue.
func (c *contests) preempted(j *Job) bool {
	return slices.ContainsFunc(c.contenders(j), func(h *holder) bool { return h.job.Contest.Preempted })
}

// overrules reports whether the scheduler ends others than those that a plan has, and none of these.
func (c *contests) overrules(j *Job, plan *preemption.Plan) bool {
	others := false
	for _, h := range c.contenders(j) {
		switch {
		case !plan.Has(h.gang.Ref):
			others = others || h.job.Contest.Preempted
		case h.job.Contest.Preempted || h.gang.Ending:
			return false
		}
	}
	return others && c.left(plan) == len(plan.Victims)
}

// left counts the victims that still have quota.
func (c *contests) left(plan *preemption.Plan) int {
	n := 0
	for _, v := range plan.Victims {
		if c.holderOf(v.Ref) != nil {
			n++
		}
	}
	return n
}

// contenders are the gangs of the queue that hold quota and are worth less than a gang, in the order in which
// the scheduler would end them: the lowest value first, of these the youngest (Kueue's
// pkg/scheduler/preemption/common, CandidatesOrdering).
func (c *contests) contenders(j *Job) []*holder {
	var all []*holder
	for i := range c.holders {
		h := &c.holders[i]
		of := h.job.Contest
		if of != nil && h.job.scheduler() == j.scheduler() && of.Queue == j.Contest.Queue &&
			!of.Reserved.IsZero() && h.job.Value < j.Value {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *holder) int {
		return cmp.Or(cmp.Compare(a.job.Value, b.job.Value),
			b.job.Contest.Reserved.Compare(a.job.Contest.Reserved.Time),
			strings.Compare(string(a.job.UID), string(b.job.UID)))
	})
	return all
}

// snapshot of a contest: flavors of the queue's quota instead of nodes, and all ranks of a role in one piece.
func (c *contests) snapshot(j *Job) preemption.Snapshot {
	waiting := preemption.Waiting{
		Ref: j.ref(), Value: j.Value, Since: j.CreationTimestamp.Time, Blocked: j.Contest.GateSince.Time,
		MaxDelay: cmp.Or(j.Class.MaxDelay, maxDelay),
	}
	for _, need := range j.Contest.Needs {
		waiting.Needs = append(waiting.Needs, preemption.Need{
			Ranks: 1, Requests: need.Requests, Nodes: need.Flavors,
		})
	}
	s := preemption.Snapshot{Now: c.now, Waiting: []preemption.Waiting{waiting}}
	for flavor, free := range j.Contest.Free {
		s.Nodes = append(s.Nodes, preemption.Node{Name: flavor, Free: free})
	}
	slices.SortFunc(s.Nodes, func(a, b preemption.Node) int { return strings.Compare(a.Name, b.Name) })
	for i, h := range c.contenders(j) {
		g := h.gang
		g.Holds = h.job.Contest.Holds
		g.Foreign = i >= mostContenders
		g.Ending = g.Ending || h.job.Contest.Preempted
		s.Running = append(s.Running, g)
	}
	return s
}

// pass the decision to the scheduler: the gate is opened, and nobody is spared any more.
func (c *contests) pass(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	st := c.handOver(j, outcome)
	st.PhaseTime = timeOf(c.now)
	return st
}

// spare some gangs.
func (o *Orders) spare(gangs []*holder) {
	for _, h := range gangs {
		o.Spare[h.gang.Ref] = true
	}
}
