package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

// Gangs whose scheduler ends nobody for them before the operator lets it.
var gateStories = map[string]story{
	"gate-opens": {jobtest.New(2, inClass), func(sim *simulation) {
		behindGate(sim)
		sim.tell("it is queued behind a closed gate, and its ranks are to have the job's own class")
		sim.logGate()
		sim.advance(6 * time.Second)
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 1)
		sim.tell("the scheduler would preempt: the plan is written down, and others are marked as spared")
		sim.logGate()
		sim.preemption = planOf(v1alpha1.PreemptionReleasing, 1)
		sim.tell("they are: the gate opens, once that is written")
		sim.logGate()
		sim.preemption, sim.explanation, sim.verdict = nil, nil, judged(scheduler.Go, "", "")
		sim.converge()
		sim.bindAndStart()
		sim.tell("it runs")
		sim.logGate()
		sim.preempt(sim.rankNames()...)
		sim.tell("it is preempted itself: the next attempt begins behind a closed gate again")
		sim.logGate()
	}},
	"gate-passes-on": {jobtest.New(2, inClass), func(sim *simulation) {
		behindGate(sim)
		sim.advance(6 * time.Second)
		sim.preemption = handOver()
		sim.tell("nobody can be named: the gate opens, and the attempt stays as it is")
		sim.logGate()
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.tell("that stays")
		sim.logGate()
	}},
	"gate-switched-off": {jobtest.New(2, inClass), func(sim *simulation) {
		behindGate(sim)
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 1)
		sim.tell("others are to make room for it")
		sim.logGate()
		sim.preemption, sim.brokers, sim.waitingClass = nil, false, ""
		sim.tell("the admin has switched that off: the gate is to open")
		sim.logGate()
	}},
	"gate-unusable-class": {jobtest.New(2, inClass), func(sim *simulation) {
		sim.classProblem = "priority class high names nowhere as its waiting class, which does not exist"
		sim.brokers, sim.backend = true, gateBackend{}
		sim.narrate("its class names a waiting class that does not exist: there is no gate")
		sim.logGate()
	}},
}

// gateBackend is a dialect whose groups may have a gate.
type gateBackend struct {
	stubBackend
	stubs.NoQuotas
}

func (gateBackend) TakesPreemptionGate(scheduler.Gang) bool { return true }

func behindGate(sim *simulation) {
	sim.brokers, sim.waitingClass, sim.backend = true, "high-waits", gateBackend{}
	sim.verdict = judged(scheduler.Hold, v1alpha1.ReasonQuotaExceeded, "others hold the quota")
	sim.explanation = lacks(0)
	sim.converge()
}

// logGate logs whether the gang has a gate, what its scheduler is told of it, and what the status says.
func (sim *simulation) logGate() {
	st := sim.job.Status
	phase, making := v1alpha1.PreemptionPhase(""), "absent"
	if p := st.Scheduling.Preemption; p != nil {
		phase = p.Phase
	}
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionMakingRoom); c != nil {
		making = string(c.Status) + " " + c.Reason
	}
	gang, told := sim.snapshot().Gang.Gang, Decide(sim.snapshot()).GangStatus
	sim.logf("= gate %t, waiting class %q; its scheduler may preempt: %t; phase %q, MakingRoom %s",
		gang.PreemptionGate, gang.WaitingClass, told.MayPreempt, phase, making)
}
