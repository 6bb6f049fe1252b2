package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// The operator's own preemption. pkg/contention plans it from all jobs. Victims drain; the ranks of the
// preemptor wait under a priority class with which the scheduler preempts no pod.

var givesWay = Guard{"a persisted preemption plan names the gang as a victim",
	func(o *observation.Observation) bool { return o.GiveWay != nil && len(o.Live) > 0 }}

// handsOver never holds once a rank of the gang has a node: the scheduler is placing the gang.
var handsOver = Guard{"preemption for the gang falls back to the scheduler",
	func(o *observation.Observation) bool {
		s := o.Job.Status.Scheduling
		if s == nil || s.WaitingClass == "" || o.Placed() > 0 || o.SpecInvalid() || o.Backend == nil {
			return false
		}
		return !o.Brokers || o.Preemption != nil && o.Preemption.Phase == v1alpha1.PreemptionHandedOver
	}}

func drainVictim(o *observation.Observation, p *Plan) Outcome {
	order, preemptor := o.GiveWay, "a job of another namespace"
	if order.Name != "" {
		preemptor = "job " + order.Name
	}
	message := "yields to %s, which has a higher priority"
	if order.Recalls {
		message = "returns lent capacity to %s"
	}
	outcome := drain(o, p, v1alpha1.CauseBrokered, v1alpha1.ReasonMakesRoom, message, preemptor)
	d := p.Status.Drain
	d.MakesRoom = &v1alpha1.MakesRoomStatus{
		Name: order.Name, UID: order.UID, Mode: order.Mode, LossGPUSeconds: order.LossGPUSeconds,
		Recalls: order.Recalls,
	}
	if order.Mode == v1alpha1.PreemptionSave && o.Now.Before(order.Deadline) {
		requestSaveUntil(o, d, order.Deadline)
		outcome.Message = d.Message
	}
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

// drainToHandOver drains ranks that hold no node, so that they are created again under the job's own class.
// This needs another attempt: the class of a pod or a group cannot be changed.
func drainToHandOver(o *observation.Observation, p *Plan) Outcome {
	message := "the victims did not free capacity in time: the ranks are created again, so that the scheduler " +
		"preempts"
	if !o.Brokers {
		message = "the operator no longer plans preemptions: the ranks are created again, so that the scheduler " +
			"preempts"
	}
	outcome := drain(o, p, v1alpha1.CauseHandOver, v1alpha1.ReasonHandedOver, "%s", message)
	p.Normal(outcome.Reason, "HandOver", outcome.Message)
	return outcome
}

// waitingClass returns the waiting class of an attempt that begins; "" for the job's own class, which the
// attempt after a hand-over has.
func waitingClass(o *observation.Observation, p *Plan) string {
	if !scheduler.Of(o.Backend).WaitingClasses || drainCause(o.Job) == v1alpha1.CauseHandOver {
		return ""
	}
	warnUnusable(o, p)
	return o.WaitingClass
}

// preemptionGate reports whether an attempt that begins has a closed preemption gate: its job's class names a
// waiting class. The ranks keep the job's class, since they are created only when the gang has quota.
func preemptionGate(o *observation.Observation, p *Plan) bool {
	quotas := scheduler.Of(o.Backend).QuotaSystem
	if quotas == nil || !o.Brokers || !o.Gang.Known() || !quotas.TakesPreemptionGate(*o.Gang.Gang) {
		return false
	}
	warnUnusable(o, p)
	return o.WaitingClass != ""
}

func warnUnusable(o *observation.Observation, p *Plan) {
	if o.WaitingClassProblem != "" {
		p.Events = append(p.Events, Event{
			Warning: true, Reason: v1alpha1.ReasonWaitingClassUnusable, Action: "Queue",
			Message: o.WaitingClassProblem + ": the operator plans no preemption for the gang",
		})
	}
}

// Held reports whether a gang must not start, whatever its scheduler decides: the capacity is reserved for a
// gang of higher priority.
func Held(o *observation.Observation) bool {
	return o.RoomReserved && o.Job.Status.Phase == v1alpha1.PhaseQueued && len(o.Live) == 0
}

// heldRecheck is how often the operator checks a held gang again, in case it misses the end of the plan.
const heldRecheck = 10 * time.Second
