package contention

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Orders are what follows from the plans of a moment.
type Orders struct {
	// Said is what the statuses of the gangs that wait for room are to have. A plan is acted upon only once it
	// is there.
	Said map[preemption.Ref]*v1alpha1.PreemptionStatus
	// GiveWay are the victims whose time has come, by what is written down.
	GiveWay map[preemption.Ref]Order
	// SaveAhead are the gangs that are to save and to train on, and the job that may soon take their place.
	SaveAhead map[preemption.Ref]types.NamespacedName
	// Spare are the gangs that their scheduler had better not end, where it ends others as well.
	Spare map[preemption.Ref]bool
	// Overruled are the gangs for which their scheduler ends others than those that the plan has.
	Overruled map[preemption.Ref]bool
	// Reserved is the room of every plan.
	Reserved []Reservation
}

// Order to give way.
type Order struct {
	// For is the job that room is made for, and its attempt.
	For     types.NamespacedName
	Waiting preemption.Ref
	// Mode in which the victim is ended, at the latest at the Deadline.
	Mode     v1alpha1.PreemptionMode
	Deadline time.Time
	// LossGPUSeconds that its end is expected to cost.
	LossGPUSeconds int64
}

// Reservation is the room that is made for a gang: nobody of a lower value begins there meanwhile.
type Reservation struct {
	For   preemption.Ref
	Value int32
	// Victims by the UIDs of their jobs, and Nodes that they leave or that the gang is to have.
	Victims map[types.UID]bool
	Nodes   map[string]bool
}

// AwaitsBroker reports whether the operator has others make room for a gang, or sees to it that the scheduler
// does: its ranks wait under a class for which the scheduler ends nobody, or its group behind a gate.
func AwaitsBroker(job *v1alpha1.TrainingJob) bool {
	s := job.Status.Scheduling
	return job.Status.Phase == v1alpha1.PhaseQueued && s != nil && (s.WaitingClass != "" || s.PreemptionGate) &&
		job.DeletionTimestamp == nil && !spec.Suspended(job) && !spec.ManagedElsewhere(job)
}

// Stands reports whether a plan still asks a victim to make room, by the status of the job that it is for.
func Stands(job *v1alpha1.TrainingJob, waiting, victim preemption.Ref) bool {
	if !AwaitsBroker(job) || job.UID != waiting.UID || job.Status.Attempt != waiting.Attempt {
		return false
	}
	st := job.Status.Scheduling.Preemption
	return st != nil && Outstanding(st.Phase) &&
		slices.ContainsFunc(st.Victims, func(v v1alpha1.PreemptionVictim) bool { return refOf(&v) == victim })
}

// Broker carries the plans on that the statuses hold, and plans for the other gangs that await it.
func Broker(p preemption.Policy, c Cluster) Orders {
	b := &broker{
		round: newRound(p, c, AwaitsBroker),
		orders: Orders{
			Said: map[preemption.Ref]*v1alpha1.PreemptionStatus{}, GiveWay: map[preemption.Ref]Order{},
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
				b.orders.say(j, gates.advance(j))
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
		b.serve(&gates, j, func() { b.orders.say(j, b.decide(j)) })
	}
	for _, j := range unplanned {
		b.guard(j, func() { b.endanger(j) })
	}
	for _, plan := range slices.Concat(b.plans, b.ended) {
		b.reservePlan(&plan)
	}
	return b.orders
}

func (o *Orders) say(j *Job, st *v1alpha1.PreemptionStatus) {
	if st != nil {
		o.Said[j.ref()] = st
	}
}

type broker struct {
	*round
	orders Orders
	// endangering counts the gangs without a plan of which it was asked whom they endanger.
	endangering int
	// ended are plans that are over, which is not written down yet: until then their room stays reserved.
	ended []preemption.Plan
}

// restore the plan that a job's status holds, or is about to, if it has one. A victim of a plan that is not
// written yet is dropped once it is gone: the plan never asked it. Two processes that both believed to lead
// may have written the same victim down twice: it is the first one's.
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

// snapshot for a preemptor that awaits the broker. A quota that is not known does not limit it: whoever makes
// room was chosen when it was.
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

// giveBack adds to what a quota has left what a gang's victims hold of it no longer: the amounts are the
// blocker's, and mostly from before they ended. Where they are newer, or a victim was of another queue, the
// quota seems larger than it is, which the scheduler finds out. What is no GPU does not limit the gang from
// then on: nothing says how much of it they had.
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

// holds is how many GPUs a victim has: all of them until it ends.
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

// noPreemptor is the backend of a job whose scheduler is not served any more.
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
		b.orders.Said[j.ref()] = b.handOver(j, preemption.Planned)
		return
	}
	b.plans[i] = step.Plan
	b.orders.Said[j.ref()] = b.sayPlan(j, step.Plan)
	for _, ref := range step.Yield {
		v := writtenAs(j, &step.Plan, ref)
		if v == nil {
			continue // a victim that is not written down yet, as it is now, is not told
		}
		b.orders.GiveWay[ref] = Order{
			For: types.NamespacedName{Namespace: j.Namespace, Name: j.Name}, Waiting: j.ref(),
			Mode: v.Mode, Deadline: step.Plan.Deadline, LossGPUSeconds: v.LossGPUSeconds,
		}
	}
}

// brokerable reports whether the operator may have others make room for a gang, by what its class says now.
func brokerable(j *Job) bool {
	return scheduler.Of(j.Backend).WaitingClasses && j.Class.WaitingClass == j.Status.Scheduling.WaitingClass
}

// sure is how long nobody can be asked before the scheduler is to preempt: a node that is not ready for a
// moment is no reason.
const sure = 5 * time.Second

// decide what becomes of a gang without a plan; nil: nothing is to be said. Where nobody can be asked, or
// nothing comes of it in time, its scheduler is to preempt for it as it does without the operator.
func (b *broker) decide(j *Job) *v1alpha1.PreemptionStatus {
	if !brokerable(j) {
		return b.handOver(j, notPlanned)
	}
	if !lacksRoom(j) {
		return nil
	}
	snapshot := b.snapshot(j)
	if len(snapshot.Waiting[0].Needs) == 0 {
		return nil // it is placed, and its status does not say so yet
	}
	choice := preemption.Choice{For: j.ref(), Outcome: preemption.Busy} // room comes without a plan
	if !snapshot.FitsSoon(&snapshot.Waiting[0]) {
		choice = b.choose(j)
	}
	if choice.Outcome == preemption.NoCover && len(b.plans) > 0 {
		snapshot.Plans = nil
		if b.policy.Choose(snapshot)[0].Outcome != preemption.NoCover {
			choice.Outcome = preemption.Busy // those who could make room for it do so for others
		}
	}
	waited := b.now.Sub(j.blocked())
	// Whoever was not served by then waits for nobody else.
	late := waited >= snapshot.Waiting[0].MaxDelay
	none := (choice.Outcome == preemption.NoCover || choice.Outcome == notPlanned) && waited >= sure
	switch {
	case none, late, len(choice.Plan.Victims) > maxVictims:
		return b.handOver(j, choice.Outcome)
	case choice.Outcome == preemption.Planned:
		b.plans = append(b.plans, choice.Plan)
		return b.sayPlan(j, choice.Plan)
	}
	return b.sayBlocked(j, choice.Outcome)
}

// lacksRoom reports whether preemption may help a gang: it lacks room, or its scheduler does not find the
// room that the nodes seem to have.
func lacksRoom(j *Job) bool {
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

func (b *broker) sayBlocked(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionOutcome(outcome), BlockedTime: timeOf(j.blocked()),
	}
}

func (b *broker) handOver(j *Job, outcome preemption.Outcome) *v1alpha1.PreemptionStatus {
	st := b.sayBlocked(j, outcome)
	st.Phase = v1alpha1.PreemptionHandedOver
	return st
}

// reserve the room of a plan for a job.
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

// Holds reports whether a queued gang without pods must wait, lest it take the room that is made for another:
// a victim, wherever it would begin, or one of a lower value that may begin on the same nodes.
func (r *Reservation) Holds(j *Job, state scheduler.ClusterState) bool {
	if r.Victims[j.UID] {
		return true
	}
	if j.Value >= r.Value {
		return false
	}
	for _, need := range waitingGang(j, state).Needs {
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
