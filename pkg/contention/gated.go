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

// Gangs whose scheduler chooses victims by quotas, as Kueue does. The scheduler keeps control of quotas,
// cohorts and borrowing. The operator knows which of several equal victims is the cheapest. It keeps the
// gang's gate closed until the scheduler reports that it would preempt. Then it marks the gangs that the
// scheduler would preempt before the cheapest ones as spared, and opens the gate. Victims save as they do in
// any preemption by the scheduler.

// maxContenders bounds the possible victims that are compared for one gang, and the gangs to mark. The ones
// that the scheduler would preempt first are taken.
const maxContenders = 32

// gated reports whether a gang's scheduler waits for the operator before it preempts for the gang.
func (j *Job) gated() bool { return j.Status.Scheduling != nil && j.Status.Scheduling.PreemptionGate }

// contests plans for gangs behind a gate, one gang per queue at a time.
type contests struct {
	*broker
	// taken are the queues whose turn is taken in this pass.
	taken map[string]bool
}

// advance returns the new status of a gang behind its gate; nil: it does not change.
func (c *contests) advance(j *Job) *v1alpha1.PreemptionStatus {
	written := j.Status.Scheduling.Preemption
	switch {
	case written != nil && written.Phase == v1alpha1.PreemptionHandedOver, j.Contest == nil:
		return nil
	case !gateable(j):
		return c.handBack(j, notPlanned)
	}
	if plan, ok := c.planOf(j); ok {
		c.taken[j.Contest.Queue] = true
		return c.advancePlan(j, plan)
	}
	switch waited := c.now.Sub(j.Contest.GateSince.Time); {
	case j.Contest.Gate == scheduler.GateIgnored && waited >= handOverDelay:
		return c.handBack(j, ignored)
	case j.Contest.Gate == scheduler.GateBlocks:
		return c.decide(j, waited)
	}
	return nil
}

// ignored: the scheduler ignores gates.
const ignored = preemption.Outcome(v1alpha1.PreemptionGateIgnored)

// gateable reports whether the current priority class lets the operator hold the gang behind a gate.
func gateable(j *Job) bool {
	return scheduler.Of(j.Backend).QuotaSystem != nil && j.Class.WaitingClass != ""
}

// planOf returns the plan that a gang's status, or the proposal for it, has. Before the gate is open, a plan
// whose victims have changed is dropped.
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

// decide which gangs yield to a gang for which its scheduler would preempt.
func (c *contests) decide(j *Job, waited time.Duration) *v1alpha1.PreemptionStatus {
	snapshot := c.snapshot(j)
	switch {
	case waited >= snapshot.Waiting[0].MaxDelay:
		return c.handBack(j, preemption.Busy)
	case c.taken[j.Contest.Queue]:
		return c.blockedStatus(j, preemption.Busy)
	}
	c.taken[j.Contest.Queue] = true
	choice := c.policy.Choose(snapshot)[0]
	switch {
	case choice.Outcome != preemption.Fits && snapshot.FitsSoon(&snapshot.Waiting[0]):
		return c.blockedStatus(j, preemption.Busy) // others are ending
	case choice.Outcome == preemption.Planned && len(choice.Plan.Victims) <= maxVictims:
		return c.planStatus(j, withoutTimes(choice.Plan))
	case choice.Outcome == preemption.OnlyProtected, choice.Outcome == preemption.Patience,
		waited < handOverDelay:
		return c.blockedStatus(j, choice.Outcome)
	}
	return c.handBack(j, choice.Outcome) // the scheduler may borrow or reclaim
}

// withoutTimes clears the times of a plan, since the scheduler decides when its victims end.
func withoutTimes(plan preemption.Plan) preemption.Plan {
	for i := range plan.Victims {
		plan.Victims[i].Ask = time.Time{}
	}
	plan.Ready = time.Time{}
	return plan
}

// advancePlan marks the gangs to spare, opens the gate, and waits for the scheduler.
func (c *contests) advancePlan(j *Job, plan preemption.Plan) *v1alpha1.PreemptionStatus {
	elapsed := c.now.Sub(plan.Since)
	enter := func(phase preemption.Phase) {
		plan.Phase, plan.Since = phase, c.now
	}
	switch plan.Phase {
	case preemption.Asking:
		if _, written := planOf(j); !written {
			break // not before the plan is written
		}
		spared := c.spared(j, &plan)
		marked := !slices.ContainsFunc(spared, func(h *holder) bool { return !h.job.Contest.Spared })
		if c.orders.spare(spared); marked || elapsed >= handOverDelay {
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
		case preempted: // the scheduler has chosen
		case elapsed >= c.policy.Placing:
			return c.handBack(j, preemption.Planned)
		default:
			c.orders.spare(c.spared(j, &plan))
		}
	case preemption.Placing:
		if c.preempted(j) {
			enter(preemption.Releasing) // others end as well
		} else if elapsed >= c.policy.Placing {
			return c.handBack(j, preemption.Planned)
		}
	}
	return c.planStatus(j, plan)
}

// spared returns the gangs of the same value that the scheduler would preempt before some victim of a plan.
// It preempts those of a lower value first in any case, and gives back what it does not need.
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

// preempted reports whether the scheduler is preempting a gang of the gang's queue.
func (c *contests) preempted(j *Job) bool {
	return slices.ContainsFunc(c.contenders(j), func(h *holder) bool { return h.job.Contest.Preempted })
}

// overrules reports whether the scheduler preempts gangs outside of a plan, and none of the plan.
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

// contenders returns the gangs of the queue that hold quota and have a lower value, in the order in which the
// scheduler preempts them: the lowest value first, then the youngest (Kueue's
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

// snapshot of a contest: flavors of the queue's quota instead of nodes, and all ranks of a role as one need.
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
		g.Foreign = i >= maxContenders
		g.Ending = g.Ending || h.job.Contest.Preempted
		s.Running = append(s.Running, g)
	}
	return s
}

// handBack returns the decision to the scheduler: the operator opens the gate and removes all marks.
func (c *contests) handBack(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
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
