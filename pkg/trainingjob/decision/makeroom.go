package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// What the operator has gangs do that make room for one of a higher priority, and with that one, whose ranks
// wait under a class for which the scheduler preempts nobody. Who they are is planned elsewhere
// (pkg/contention), from all jobs.

var givesWay = Guard{"it is to make room for a gang of a higher priority, by a plan that is written down",
	func(o *observation.Observation) bool { return o.GiveWay != nil && len(o.Live) > 0 }}

// handsOver: whatever has been said of a plan, a gang of which a rank has a node is being placed.
var handsOver = Guard{"others have not made room for it, and the scheduler is to preempt for it",
	func(o *observation.Observation) bool {
		s := o.Job.Status.Scheduling
		if s == nil || s.WaitingClass == "" || o.Placed() > 0 || o.SpecInvalid() || o.Backend == nil {
			return false
		}
		return !o.Brokers || o.Preemption != nil && o.Preemption.Phase == v1alpha1.PreemptionHandedOver
	}}

func drainToMakeRoom(o *observation.Observation, p *Plan) Outcome {
	order, whom := o.GiveWay, "a job of another namespace"
	if order.Name != "" {
		whom = "job " + order.Name
	}
	outcome := drain(o, p, v1alpha1.CauseBrokered, v1alpha1.ReasonMakesRoom,
		"makes room for %s, which has a higher priority", whom)
	d := p.Status.Drain
	d.MakesRoom = &v1alpha1.MakesRoomStatus{
		Name: order.Name, UID: order.UID, Mode: order.Mode, LossGPUSeconds: order.LossGPUSeconds,
	}
	if order.Mode == v1alpha1.PreemptionSave && o.Now.Before(order.Deadline) {
		requestSaveUntil(o, d, order.Deadline)
		outcome.Message = d.Message
	}
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

// drainToHandOver: the ranks, which hold nothing, are made again under the job's own class. That begins
// another attempt, as every other change of the class does: neither a pod's class nor a group's can be
// changed.
func drainToHandOver(o *observation.Observation, p *Plan) Outcome {
	message := "others could not make room in time: the ranks are made again, so that the scheduler preempts"
	if !o.Brokers {
		message = "the operator has nobody make room any more: the ranks are made again, so that the scheduler " +
			"preempts"
	}
	outcome := drain(o, p, v1alpha1.CauseHandOver, v1alpha1.ReasonHandedOver, "%s", message)
	p.Normal(outcome.Reason, "HandOver", outcome.Message)
	return outcome
}

// waitingClass of an attempt that begins. The attempt after a hand-over waits under the job's own class.
func waitingClass(o *observation.Observation, p *Plan) string {
	if !scheduler.Of(o.Backend).WaitingClasses || drainCause(o.Job) == v1alpha1.CauseHandOver {
		return ""
	}
	tellUnusable(o, p)
	return o.WaitingClass
}

// preemptionGate of an attempt that begins: closed where the job's class names a waiting class. Its ranks
// keep their own, since they exist once it has quota.
func preemptionGate(o *observation.Observation, p *Plan) bool {
	quotas := scheduler.Of(o.Backend).QuotaSystem
	if quotas == nil || !o.Brokers || !o.Gang.Known() || !quotas.TakesPreemptionGate(*o.Gang.Gang) {
		return false
	}
	tellUnusable(o, p)
	return o.WaitingClass != ""
}

func tellUnusable(o *observation.Observation, p *Plan) {
	if o.WaitingClassProblem != "" {
		p.Events = append(p.Events, Event{
			Warning: true, Reason: v1alpha1.ReasonWaitingClassUnusable, Action: "Queue",
			Message: o.WaitingClassProblem + ": nobody is asked to make room for the gang",
		})
	}
}

// Held is the verdict on a gang that must not begin, whatever its scheduler says: others make room for one of
// a higher priority.
func Held(o *observation.Observation) bool {
	return o.RoomReserved && o.Job.Status.Phase == v1alpha1.PhaseQueued && len(o.Live) == 0
}

// heldRecheck is how often a gang that is held is looked at again, should nobody say that the plan is over.
const heldRecheck = 10 * time.Second
