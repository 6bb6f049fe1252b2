//go:build cluster

package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// Scenarios in which the operator preempts (preemption.mode Broker) for gangs of class urgent, which wait
// under urgentWaits. Those of class misnamed name a waiting class that does not exist.
const (
	urgent      = "conformance-urgent"
	urgentWaits = "conformance-urgent-waits"
	misnamed    = "conformance-misnamed"
)

// brokering is the operator's configuration in these scenarios. A gang that has just started is no longer
// protected, once it has saved.
var brokering = &planner.Options{
	LossCap: time.Hour, UnknownStart: time.Second, MaxPlans: 8, MaxDelay: 40 * time.Second, MaxRounds: 3,
	MeanRun: time.Second, Broker: true,
}

// A gang that has trained beyond its last checkpoint, and one that has not saved for long: with them the cost
// of a preemption is known.
const (
	// answers: it has saved 100 steps of 150, and saves all of them within a second when it is asked.
	answers = "steps=1000 rate=1000 every=100ms save=1s start=300ms stall-after=150 on-sigterm=die"
	// hangs: the same, but its save takes ten seconds.
	hangs = "steps=1000 rate=1000 every=100ms save=10s start=300ms stall-after=150 on-sigterm=die"
	// crawls: the same, but its save takes twenty seconds.
	crawls = "steps=1000 rate=1000 every=100ms save=20s start=300ms stall-after=150 on-sigterm=die"
)

var brokerAll = flag.Bool("broker-all", false,
	"play the scenarios of the broker on every scheduler, and with the operator killed, as make "+
		"test-preemption does")

// brokerInFull: these scenarios wait for real saves and for deadlines, and would double the time of the
// suite.
func brokerInFull() bool { return *brokerAll || *crashPoints == "all" }

// brokerInShort is what is played of a scenario otherwise: all of them on the fake, and the first on every
// real scheduler that has it. Only that one is played with crashes, on the fake.
func brokerInShort(d *dialect, s Scenario, crashes int) (withCrashes int, left bool) {
	fake, first := d.name == fakescheduler.Name, s.name == brokerPreempts.name || s.name == gateCheapest.name
	if fake && first {
		return crashes, false
	}
	return 0, !fake && (d.behavior != nil || !first)
}

func brokerScenarios() []Scenario {
	return slices.Concat([]Scenario{
		brokerPreempts, brokerHoldsOthers, brokerEndsTheCheapest, brokerTwoPreemptors, brokerRevoked,
		brokerSilentTrainer, brokerHandsOver, brokerMisnamedClass,
	}, brokerHazards(), gateScenarios())
}

var brokerPreempts = Scenario{
	name: "broker-preempts",
	promise: "a preemptor runs in its first attempt; its victims save all progress, and do not start again " +
		"before it has started",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: preempts(jobSpec{name: "low", ranks: 4, gpus: 8, class: low},
		jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
}

// preempts is the cycle in which victim yields to winner, waits as a unit, and runs again with all its work.
func preempts(victim, winner jobSpec) []Step {
	victim.trainer, victim.retain = answers, v1alpha1.DeleteClaim
	return []Step{
		submit(victim),
		until(victim.name, runsWhole(victim.ranks), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		submit(winner),
		until(winner.name, runsWhole(winner.ranks), attempt(1)),
		until(victim.name, is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps),
			condition(v1alpha1.ConditionPreempted, "True")),
		now(winner.name, attempt(1), spent(0, 0), ranksOfClass(urgentWaits),
			condition(v1alpha1.ConditionMakingRoom, "False")),
		judged(victim.name),
		neverBound(victim.name),
		now(victim.name, waits(), holds(0), spent(0, 1), asked(1, 1), lostNothing()),
		complete(winner.name),
		until(winner.name, is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
		until(victim.name, runsWhole(victim.ranks), attempt(2), condition(v1alpha1.ConditionPreempted, "False")),
		now(victim.name, spent(0, 1), neverFailed(), passed(v1alpha1.PhaseDraining), lostNothing()),
	}
}

var brokerHoldsOthers = Scenario{
	name: "broker-holds-others",
	promise: "while victims yield, no gang of a lower priority than the preemptor starts there; its status " +
		"gives the reason, and it runs later",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: holdsOthers(),
}

func holdsOthers() []Step {
	return []Step{
		submit(saver("slow", 4, crawls)),
		until("slow", runsWhole(4), saved(saveSteps), trained(1, stallSteps)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("slow", is(v1alpha1.PhaseDraining), reason(v1alpha1.ReasonMakesRoom)),
		submit(jobSpec{name: "small", ranks: 1, gpus: 8, class: low}),
		until("small", is(v1alpha1.PhaseQueued), hasNoPods(), blockedBy(v1alpha1.ReasonRoomReserved)),
		until("high", runsWhole(2), attempt(1)),
		until("small", runsWhole(1), attempt(1)),
		until("slow", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps)),
		now("slow", spent(0, 1), asked(1, 1), lostNothing()),
	}
}

var brokerEndsTheCheapest = Scenario{
	name: "broker-cheapest",
	promise: "the operator preempts the cheaper of two possible victims, whichever the scheduler would " +
		"choose; the other keeps running",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(saver("cheap", 2, answers)),
		until("cheap", runsWhole(2), saved(saveSteps), trained(1, stallSteps)),
		aSecondLater(),
		submit(jobSpec{name: "dear", ranks: 2, gpus: 8, class: low}), // it saves nothing, and is the younger
		until("dear", runsWhole(2)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1)),
		// A scheduler that preempts by itself ends dear, whether or not the broker has chosen cheap by then.
		now("dear", runsWhole(2), attempt(1), spent(0, 0)),
		until("cheap", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps)),
		now("cheap", spent(0, 1), asked(1, 1), lostNothing()),
		now("dear", runsWhole(2), attempt(1), spent(0, 0)),
	},
}

var brokerTwoPreemptors = Scenario{
	name:    "broker-two-preemptors",
	promise: "two preemptors have different victims, and no gang is preempted twice",
	needs:   []Capability{DefersPreemption}, brokers: true,
	steps: slices.Concat(train(saver("a", 2, answers), saver("b", 2, answers)), []Step{
		submit(jobSpec{name: "first", ranks: 2, gpus: 8, class: urgent}),
		submit(jobSpec{name: "second", ranks: 2, gpus: 8, class: urgent}),
		until("first", runsWhole(2), attempt(1)),
		until("second", runsWhole(2), attempt(1)),
	}, yielded("a", "b")),
}

var brokerRevoked = Scenario{
	name:    "broker-revoked",
	promise: "when the preemptor is deleted, the operator preempts no more gangs, and victims return at once",
	needs:   []Capability{DefersPreemption}, brokers: true,
	steps: append(train(saver("slow", 2, hangs), saver("fast", 2, answers)),
		submit(jobSpec{name: "high", ranks: 4, gpus: 8, class: urgent}),
		until("slow", is(v1alpha1.PhaseDraining), reason(v1alpha1.ReasonMakesRoom)),
		now("fast", runsWhole(2), attempt(1)), // all are to be ready together, and it is asked 9 s later
		remove("high"),
		nothingLeft("high"),
		until("slow", runsWhole(2), attempt(2)),
		now("slow", spent(0, 1), asked(1, 1), lostNothing()),
		now("fast", runsWhole(2), attempt(1), spent(0, 0))),
}

var brokerSilentTrainer = Scenario{
	name: "broker-silent-trainer",
	promise: "a trainer that does not answer a request is stopped after its time limit, resumes from its last " +
		"checkpoint, and is recorded as not answering",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(saver("low", 4, answers)),
		until("low", runsWhole(4), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		cutReports(true),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1)),
		cutReports(false),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(saveSteps)),
		now("low", spent(0, 1), asked(1, 0)),
	},
}

var brokerHandsOver = Scenario{
	name: "broker-hands-over",
	promise: "a gang without possible victims returns to its own class and waits; it runs once capacity is " +
		"free, and nothing is counted",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(jobSpec{name: "peer", ranks: 4, gpus: 8, class: urgent}),
		until("peer", runsWhole(4), attempt(1)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", is(v1alpha1.PhaseQueued), attempt(2), preemptionIs(v1alpha1.PreemptionHandedOver)),
		judged("high"),
		neverBound("high"),
		now("peer", runsWhole(4), attempt(1), spent(0, 0)),
		complete("peer"),
		until("high", runsWhole(2), attempt(2)),
		now("high", spent(0, 0), neverFailed(), ranksOfClass(urgent)),
	},
}

var brokerMisnamedClass = Scenario{
	name:    "broker-unusable-class",
	promise: "the scheduler itself preempts for a gang whose class names a missing waiting class",
	needs:   []Capability{DefersPreemption}, brokers: true,
	steps: append([]Step{
		submit(jobSpec{name: "low", ranks: 4, gpus: 8, class: low}),
		until("low", runsWhole(4), attempt(1)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: misnamed}),
		until("high", runsWhole(2), attempt(1), ranksOfClass(misnamed)),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0)),
	}, now("low", spent(0, 1), asked(0, 0))),
}

// saver is a gang of low priority that trains.
func saver(name string, ranks int32, trainer string) jobSpec {
	return jobSpec{
		name: name, ranks: ranks, gpus: 8, class: low, trainer: trainer, retain: v1alpha1.DeleteClaim,
	}
}

// train submits gangs, and waits until each has trained beyond its last checkpoint.
func train(gangs ...jobSpec) []Step {
	var steps []Step
	for _, g := range gangs {
		steps = append(steps, submit(g))
	}
	for _, g := range gangs {
		steps = append(steps, until(g.name, runsWhole(g.ranks), saved(saveSteps), trained(1, stallSteps)))
	}
	return steps
}

// yielded expects that gangs that yielded once wait, and have lost no progress.
func yielded(names ...string) []Step {
	var steps []Step
	for _, name := range names {
		steps = append(steps,
			until(name, is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps)),
			now(name, spent(0, 1), asked(1, 1), lostNothing()))
	}
	return steps
}

// asked expects the numbers of requested and of saved checkpoints.
func asked(times, saves int32) Expectation {
	say := fmt.Sprintf("received %d requests for a checkpoint, and has saved %d times", times, saves)
	return ofStatus(say, func(st *v1alpha1.TrainingJobStatus) string {
		w := st.Work
		if w == nil {
			w = &v1alpha1.WorkStatus{}
		}
		return differs("asked/saved", fmt.Sprintf("%d/%d", w.Asked, w.Saved), fmt.Sprintf("%d/%d", times, saves))
	})
}

func lostNothing() Expectation {
	return ofStatus("has lost no step", func(st *v1alpha1.TrainingJobStatus) string {
		if st.Work == nil {
			return "the status has no work"
		}
		return differs("the number of lost steps", st.Work.LostSteps, 0)
	})
}

func preemptionIs(phase v1alpha1.PreemptionPhase) Expectation {
	return ofStatus("preemption is "+string(phase), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Scheduling == nil || st.Scheduling.Preemption == nil {
			return "the status says nothing of a preemption"
		}
		return differs("the phase of its preemption", st.Scheduling.Preemption.Phase, phase)
	})
}

// ranksOfClass expects that the pods have a priority class.
func ranksOfClass(class string) Expectation {
	return Expectation{"has ranks of class " + class, func(_ *Env, v *view, name string) string {
		var classes []string
		for _, p := range v.podsOf(name) {
			classes = append(classes, p.Spec.PriorityClassName)
		}
		slices.Sort(classes)
		return differs("the classes of its ranks", fmt.Sprint(slices.Compact(classes)), fmt.Sprint([]string{class}))
	}}
}

// cutReports breaks every connection to the report server, or no longer.
func cutReports(is bool) Step {
	return Step{fmt.Sprintf("reports are cut off: %t", is), func(_ context.Context, e *Env) error {
		if e.operator == nil {
			return errors.New("there is no operator")
		}
		e.operator.proxy.cut(is)
		return nil
	}}
}
