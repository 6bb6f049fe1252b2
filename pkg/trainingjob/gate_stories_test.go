package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

// Gangs whose scheduler preempts others only after the operator opens the preemption gate.
var gateStories = map[string]story{
	"gate-opens": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableGate(sim)
		sim.narratePlan("it is queued behind a closed gate, and its ranks get the class of the job")
		sim.logGate()
		sim.advance(6 * time.Second)
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 1)
		sim.narratePlan("it does not fit; the plan is persisted, and the operator exempts the other gangs")
		sim.logGate()
		sim.preemption = planInPhase(v1alpha1.PreemptionReleasing, 1)
		sim.narratePlan("the others are exempt, and the gate opens once the phase is persisted")
		sim.logGate()
		sim.preemption, sim.explanation, sim.verdict = nil, nil, judged(scheduler.Go, "", "")
		sim.converge()
		sim.bindAndStart()
		sim.narratePlan("it is running")
		sim.logGate()
		sim.preempt(sim.rankNames()...)
		sim.narratePlan("it is preempted, and the next attempt starts behind a closed gate again")
		sim.logGate()
	}},
	"gate-opens-without-a-plan": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableGate(sim)
		sim.advance(6 * time.Second)
		sim.preemption = handedOverPlan()
		sim.narratePlan("there are no victims; the gate opens, and the attempt continues")
		sim.logGate()
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.narratePlan("the gate stays open")
		sim.logGate()
	}},
	"gate-switched-off": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableGate(sim)
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 1)
		sim.narratePlan("the plan names victims")
		sim.logGate()
		sim.preemption, sim.brokers, sim.waitingClass = nil, false, ""
		sim.narratePlan("the admin has disabled preemption, and the gate opens")
		sim.logGate()
	}},
	"gate-unusable-class": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		sim.classProblem = "priority class high names nowhere as its waiting class, which does not exist"
		sim.brokers, sim.backend = true, gateBackend{}
		sim.narrate("its class names a waiting class that does not exist, so it has no gate")
		sim.logGate()
	}},
}

// gateBackend is a backend whose groups can have a preemption gate.
type gateBackend struct {
	stubBackend
	stubs.NoQuotas
}

func (gateBackend) TakesPreemptionGate(scheduler.Gang) bool { return true }

// enableGate enables preemption with a gate for a job that does not fit.
func enableGate(sim *simulation) {
	sim.brokers, sim.waitingClass, sim.backend = true, "high-waits", gateBackend{}
	sim.verdict = judged(scheduler.Hold, v1alpha1.ReasonQuotaExceeded, "others hold the quota")
	sim.explanation = insufficientGPUs(0)
	sim.converge()
}

// logGate logs whether the gang has a gate, whether its scheduler may preempt, the phase of the plan and the
// condition MakingRoom.
func (sim *simulation) logGate() {
	st := sim.job.Status
	phase, condition := v1alpha1.PreemptionPhase(""), "absent"
	if p := st.Scheduling.Preemption; p != nil {
		phase = p.Phase
	}
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionMakingRoom); c != nil {
		condition = string(c.Status) + " " + c.Reason
	}
	gang, status := sim.snapshot().Gang.Gang, Decide(sim.snapshot()).GangStatus
	sim.logf("= gate %t, waiting class %q; its scheduler may preempt: %t; phase %q, MakingRoom %s",
		gang.PreemptionGate, gang.WaitingClass, status.MayPreempt, phase, condition)
}
