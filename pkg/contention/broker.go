package contention

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Orders follow from the plans of one pass.
type Orders struct {
	// Statuses are the wanted preemption statuses of the waiting gangs. A plan takes effect only after its
	// status has been written.
	Statuses map[preemption.Ref]*v1alpha1.PreemptionStatus
	// GiveWay are the victims that must yield now, according to the written statuses.
	GiveWay map[preemption.Ref]Order
	// SaveAhead are the gangs that should save and continue to train, each with the job that may soon replace
	// it.
	SaveAhead map[preemption.Ref]types.NamespacedName
	// Spare are the gangs that the scheduler should preempt only if there are no other victims.
	Spare map[preemption.Ref]bool
	// Overruled are the preemptors for which the scheduler preempts gangs outside of the plan.
	Overruled map[preemption.Ref]bool
	// Reserved is the reserved capacity of every plan.
	Reserved []Reservation
}

// Order to a victim to yield.
type Order struct {
	// For is the preemptor and Waiting its attempt.
	For     types.NamespacedName
	Waiting preemption.Ref
	// Mode in which the victim ends, at the latest at the Deadline.
	Mode     v1alpha1.PreemptionMode
	Deadline time.Time
	// LossGPUSeconds is the expected loss.
	LossGPUSeconds int64
	// Recalls: the victim leaves lent capacity.
	Recalls bool
}

// Reservation is capacity reserved for a gang: gangs of a lower value must not start there.
type Reservation struct {
	For   preemption.Ref
	Value int32
	// Victims by the UIDs of their jobs, and Nodes that the victims leave or the gang gets.
	Victims map[types.UID]bool
	Nodes   map[string]bool
}

// AwaitsBroker reports whether the operator plans preemption for a gang: its ranks wait under a class that
// never preempts, or its group waits behind a gate.
func AwaitsBroker(job *v1alpha1.TrainingJob) bool {
	s := job.Status.Scheduling
	return job.Status.Phase == v1alpha1.PhaseQueued && s != nil && (s.WaitingClass != "" || s.PreemptionGate) &&
		job.DeletionTimestamp == nil && !spec.Suspended(job) && !spec.ManagedElsewhere(job)
}

// Stands reports whether the preemptor's status still has an outstanding plan with this victim.
func Stands(job *v1alpha1.TrainingJob, waiting, victim preemption.Ref) bool {
	if !AwaitsBroker(job) || job.UID != waiting.UID || job.Status.Attempt != waiting.Attempt {
		return false
	}
	st := job.Status.Scheduling.Preemption
	return st != nil && Outstanding(st.Phase) &&
		slices.ContainsFunc(st.Victims, func(v v1alpha1.PreemptionVictim) bool { return refOf(&v) == victim })
}

// Broker advances the plans in the statuses, and plans for the other gangs that await it.
func Broker(p preemption.Policy, c Cluster) Orders {
	b := &broker{
		round: newRound(p, c, AwaitsBroker),
		orders: Orders{
			Statuses: map[preemption.Ref]*v1alpha1.PreemptionStatus{}, GiveWay: map[preemption.Ref]Order{},
			SaveAhead: map[preemption.Ref]types.NamespacedName{}, Spare: map[preemption.Ref]bool{},
			Overruled: map[preemption.Ref]bool{},
		},
	}
	gates := contests{b, map[string]bool{}}
	var planned, unplanned []*Job
	for _, j := range b.waiting {
		b.serve(&gates, j, func() {
			switch {
			case j.gated():
				b.orders.set(j, gates.advance(j))
			case b.restore(j):
				planned = append(planned, j)
			default:
				unplanned = append(unplanned, j)
			}
		})
	}
	for _, j := range planned {
		b.serve(&gates, j, func() { b.advance(j) })
	}
	for _, j := range unplanned {
		b.serve(&gates, j, func() { b.orders.set(j, b.decide(j)) })
	}
	for _, j := range unplanned {
		b.guard(j, func() { b.planSavesAhead(j) })
	}
	for _, plan := range slices.Concat(b.plans, b.ended) {
		b.reservePlan(&plan)
	}
	return b.orders
}

func (o *Orders) set(j *Job, st *v1alpha1.PreemptionStatus) {
	if st != nil {
		o.Statuses[j.ref()] = st
	}
}

type broker struct {
	*round
	orders Orders
	// endangering counts the gangs without a plan for which the pass searched gangs to save ahead.
	endangering int
	// ended are plans whose end is not written yet. Until then their capacity stays reserved.
	ended []preemption.Plan
}

// restore returns whether a job's status, or the proposal for it, has a plan. A victim that ended before the
// plan was written is dropped. Two leaders may have written one victim into two statuses; the first plan
// keeps it.
func (b *broker) restore(j *Job) bool {
	plan, ok := planOf(j)
	if !ok {
		if plan, ok = readPlan(j, j.Proposed); !ok {
			return false
		}
		plan.Victims = slices.DeleteFunc(plan.Victims, func(v preemption.Victim) bool {
			return b.holderOf(v.Ref) == nil
		})
	}
	plan.Victims = slices.DeleteFunc(plan.Victims, func(v preemption.Victim) bool {
		return slices.ContainsFunc(b.plans, func(other preemption.Plan) bool {
			return slices.ContainsFunc(other.Victims, func(o preemption.Victim) bool { return o.Ref == v.Ref })
		})
	})
	b.plans = append(b.plans, plan)
	snapshot := b.snapshot(j)
	b.plans[len(b.plans)-1].Claim = snapshot.ClaimOf(plan, &snapshot.Waiting[0])
	return true
}

// snapshot for a preemptor that awaits the broker. An unknown quota does not limit it: the victims were
// chosen while it was known.
func (b *broker) snapshot(j *Job) preemption.Snapshot {
	quota, known := quotaOf(j)
	if !known {
		quota = nil
	} else if quota != nil {
		b.giveBack(j, quota)
	}
	backend := scheduler.Of(j.Backend).Preemptor
	if backend == nil {
		backend = noPreemptor{}
	}
	return b.snapshotFor(j, backend, quota)
}

// giveBack adds to a quota's free amounts what ended victims no longer hold: the blocker's amounts are mostly
// older. If they are newer, or a victim was in another queue, the quota seems too large and the scheduler
// still rejects the gang. Resources other than GPUs are no longer limited, since the victims' usage is
// unknown.
func (b *broker) giveBack(j *Job, q *quota) {
	st := j.Status.Scheduling.Preemption
	if st == nil || !Outstanding(st.Phase) {
		return
	}
	for i := range st.Victims {
		v := &st.Victims[i]
		back := v.GPUs - b.holds(refOf(v))
		for name := range q.free {
			switch {
			case back <= 0:
			case b.gpus.Counts(name):
				q.free[name] += back
			default:
				delete(q.free, name)
			}
		}
	}
}

// holds returns the GPUs that a victim holds: all of them until it starts to end.
func (b *broker) holds(ref preemption.Ref) (gpus int64) {
	h := b.holderOf(ref)
	if h == nil {
		return 0
	}
	g := &h.gang
	if !g.Ending {
		return g.GPUs
	}
	for _, amounts := range g.Holds {
		for name, n := range amounts {
			if b.gpus.Counts(name) {
				gpus += n
			}
		}
	}
	return gpus
}

// noPreemptor is the backend of a job whose scheduler is no longer enabled.
type noPreemptor struct{ scheduler.Backend }

func (noPreemptor) MayPreempt(_, _ scheduler.Contender) bool { return false }

// advance a plan by a step.
func (b *broker) advance(j *Job) {
	i := slices.IndexFunc(b.plans, func(p preemption.Plan) bool { return p.For == j.ref() })
	snapshot := b.snapshot(j)
	if len(snapshot.Waiting[0].Needs) == 0 {
		b.plans = slices.Delete(b.plans, i, i+1) // it is placed
		return
	}
	step := b.policy.Advance(snapshot, b.plans[i])
	if step.Ended != "" || !brokerable(j) || len(step.Plan.Victims) > maxVictims {
		b.ended = append(b.ended, b.plans[i])
		b.plans = slices.Delete(b.plans, i, i+1)
		b.orders.Statuses[j.ref()] = b.giveUp(j, preemption.Planned)
		if !brokerable(j) {
			b.orders.Statuses[j.ref()] = b.handOver(j, preemption.Planned)
		}
		return
	}
	b.plans[i] = step.Plan
	b.orders.Statuses[j.ref()] = b.planStatus(j, step.Plan)
	for _, ref := range step.Yield {
		v := writtenAs(j, &step.Plan, ref)
		if v == nil {
			continue // a victim yields only after its entry, as it is now, has been written
		}
		b.orders.GiveWay[ref] = Order{
			For: types.NamespacedName{Namespace: j.Namespace, Name: j.Name}, Waiting: j.ref(),
			Mode: v.Mode, Deadline: step.Plan.Deadline, LossGPUSeconds: v.LossGPUSeconds,
		}
	}
}

// brokerable reports whether the current priority class lets the operator plan preemption for a gang.
func brokerable(j *Job) bool {
	return scheduler.Of(j.Backend).WaitingClasses && j.Class.WaitingClass == j.Status.Scheduling.WaitingClass
}

// handOverDelay is how long a gang must lack victims before the scheduler preempts for it: a node may be not
// ready for a moment.
const handOverDelay = 5 * time.Second

// decide what happens to a gang without a plan; nil: its status does not change. Without possible victims, or
// after the maximum delay, the scheduler preempts as it does without the operator.
func (b *broker) decide(j *Job) *v1alpha1.PreemptionStatus {
	if !brokerable(j) || !b.knowsCapacity(j) {
		return b.handOver(j, notPlanned)
	}
	if !lacksCapacity(j) || b.hasFailed(j) {
		return nil
	}
	snapshot := b.snapshot(j)
	if len(snapshot.Waiting[0].Needs) == 0 {
		return nil // it is placed, and its status does not show it yet
	}
	choice := preemption.Choice{For: j.ref(), Outcome: preemption.Busy} // capacity becomes free without a plan
	if !snapshot.FitsSoon(&snapshot.Waiting[0]) {
		choice = b.choose(j)
	}
	if choice.Outcome == preemption.NoCover && len(b.plans) > 0 {
		snapshot.Plans = nil
		if b.policy.Choose(snapshot)[0].Outcome != preemption.NoCover {
			choice.Outcome = preemption.Busy // its possible victims belong to other plans
		}
	}
	waited := b.now.Sub(j.blocked())
	late := waited >= snapshot.Waiting[0].MaxDelay
	none := (choice.Outcome == preemption.NoCover || choice.Outcome == notPlanned) && waited >= handOverDelay
	tooMany := len(choice.Plan.Victims) > maxVictims
	switch {
	case choice.Outcome == preemption.Planned && !tooMany && (!late || waitsForDomain(j)):
		b.plans = append(b.plans, choice.Plan)
		return b.planStatus(j, choice.Plan)
	case none, late, tooMany:
		return b.giveUp(j, choice.Outcome)
	}
	return b.blockedStatus(j, choice.Outcome)
}

// waitsForDomain reports whether a gang must lie within one domain and its scheduler does not preempt for
// such gangs.
func waitsForDomain(j *Job) bool {
	return scheduler.Of(j.Backend).NoPreemptionWithin && spec.Within(j.TrainingJob) != ""
}

// hasFailed reports whether the plan for a gang that waits for a domain failed not long ago. Other pods would
// probably take again what its victims free. So the gang gets the next plan only after its maximum delay.
func (b *broker) hasFailed(j *Job) bool {
	st := j.Status.Scheduling.Preemption
	return waitsForDomain(j) && st != nil && st.Outcome == v1alpha1.PreemptionTopologyCannotPreempt &&
		st.PhaseTime != nil && b.now.Before(st.PhaseTime.Add(cmp.Or(j.Class.MaxDelay, maxDelay)))
}

// giveUp ends the search for a gang: the scheduler preempts for it, or it waits.
func (b *broker) giveUp(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	if !waitsForDomain(j) {
		return b.handOver(j, outcome)
	}
	st := b.blockedStatus(j, outcome)
	if outcome == preemption.Planned {
		st.Outcome, st.PhaseTime = v1alpha1.PreemptionTopologyCannotPreempt, timeOf(b.now)
	}
	return st
}

// lacksCapacity reports whether preemption may help a gang: it lacks capacity, or its scheduler does not use
// capacity that seems free.
func lacksCapacity(j *Job) bool {
	blocker := j.Status.Scheduling.Blocker
	if blocker == nil {
		return false
	}
	switch blocker.Reason {
	case v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonUnschedulable,
		v1alpha1.ReasonSchedulerRests:
		return true
	}
	return false
}

func (b *broker) blockedStatus(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionOutcome(outcome), BlockedTime: timeOf(j.blocked()),
	}
}

func (b *broker) handOver(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	st := b.blockedStatus(j, outcome)
	st.Phase = v1alpha1.PreemptionHandedOver
	return st
}

// reserve the capacity of a plan for a job.
func (b *broker) reserve(j *Job, plan *preemption.Plan) {
	r := Reservation{
		For: plan.For, Value: j.Value, Victims: map[types.UID]bool{}, Nodes: map[string]bool{},
	}
	for name := range plan.Claim {
		r.Nodes[name] = true
	}
	for _, v := range plan.Victims {
		r.Victims[v.UID] = true
		if h := b.holderOf(v.Ref); h != nil {
			for name := range h.gang.Holds {
				r.Nodes[name] = true
			}
		}
	}
	b.orders.Reserved = append(b.orders.Reserved, r)
}

// Holds reports whether a queued gang without pods must wait for the reservation: it is a victim, or it has a
// lower value and may start on the reserved nodes.
func (r *Reservation) Holds(j *Job, state scheduler.ClusterState) bool {
	if r.Victims[j.UID] {
		return true
	}
	if j.Value >= r.Value {
		return false
	}
	for _, need := range waitingGang(j, state, nil).Needs {
		if slices.ContainsFunc(need.Nodes, func(node string) bool { return r.Nodes[node] }) {
			return true
		}
	}
	return false
}

func timeOf(t time.Time) *metav1.Time {
	at := metav1.NewTime(t.Truncate(time.Second))
	return &at
}
