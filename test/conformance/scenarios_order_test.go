//go:build cluster

package conformance

import (
	"context"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var priorityOrder = Scenario{
	name:    "priority-order",
	promise: "as capacity becomes free the waiting gangs run in order of priority, not of submission",
	needs:   []Capability{ServesByPriority},
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 4, gpus: 8, class: top}),
		until("filler", runsWhole(4)),
		submit(jobSpec{name: "early-low", ranks: 3, gpus: 8, class: low}),
		judged("early-low"),
		submit(jobSpec{name: "late-high", ranks: 3, gpus: 8, class: high}),
		judged("late-high"),
		submit(jobSpec{name: "last-middle", ranks: 3, gpus: 8, class: middle}),
		judged("last-middle"),
		neverBound("early-low"),
		neverBound("late-high"),
		neverBound("last-middle"),
		passEnds(),
		complete("filler"),
		until("late-high", runsWhole(3), attempt(1)),
		judged("last-middle"),
		judged("early-low"),
		now("last-middle", waits(), holds(0)),
		now("early-low", waits(), holds(0)),
		passEnds(),
		complete("late-high"),
		// it was not started and preempted
		until("last-middle", runsWhole(3), attempt(1), spent(0, 0), neverFailed()),
		judged("early-low"),
		now("early-low", waits(), holds(0)),
		complete("last-middle"),
		until("early-low", runsWhole(3), attempt(1), spent(0, 0), neverFailed()),
	},
}

// A scheduler that tries the lower gang first must preempt it again.
var priorityWins = Scenario{
	name: "priority-wins",
	promise: "each waiting gang runs before all gangs of lower priority have run, whatever the order of " +
		"submission",
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 4, gpus: 8, class: top}),
		until("filler", runsWhole(4)),
		submit(jobSpec{name: "early-low", ranks: 3, gpus: 8, class: low}),
		judged("early-low"),
		submit(jobSpec{name: "late-high", ranks: 3, gpus: 8, class: high}),
		judged("late-high"),
		submit(jobSpec{name: "last-middle", ranks: 3, gpus: 8, class: middle}),
		judged("last-middle"),
		complete("filler"),
		until("late-high", runsWhole(3), attempt(1), spent(0, 0), neverFailed()),
		until("last-middle", is(v1alpha1.PhaseQueued), holds(0)),
		until("early-low", is(v1alpha1.PhaseQueued), holds(0)),
		complete("late-high"),
		until("last-middle", runsWhole(3), neverFailed()),
		until("early-low", is(v1alpha1.PhaseQueued), holds(0)),
		complete("last-middle"),
		until("early-low", runsWhole(3), neverFailed()),
	},
}

var submissionOrder = Scenario{
	name:    "submission-order",
	promise: "waiting gangs of one priority run in the order in which they were submitted",
	needs:   []Capability{ServesInOrder},
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 4, gpus: 8, class: top}),
		until("filler", runsWhole(4)),
		submit(jobSpec{name: "z-first", ranks: 3, gpus: 8}), // names do not decide
		judged("z-first"),
		aSecondLater(),
		// Each has another shape: Kueue does not judge a Workload that equals a waiting one.
		submit(jobSpec{name: "m-second", ranks: 5, gpus: 4}),
		judged("m-second"),
		aSecondLater(),
		submit(jobSpec{name: "a-third", ranks: 4, gpus: 5}),
		judged("a-third"),
		complete("filler"),
		until("z-first", runsWhole(3), attempt(1)),
		complete("z-first"),
		until("m-second", runsWhole(5), attempt(1)),
		judged("a-third"),
		neverBound("a-third"),
		complete("m-second"),
		until("a-third", runsWhole(4), attempt(1), spent(0, 0), neverFailed()),
	},
}

var smallPassesLarge = Scenario{
	name: "small-passes-large",
	promise: "a small gang uses capacity that a waiting large gang cannot use, and the large one runs as soon " +
		"as it fits",
	needs: []Capability{LetsSmallPass},
	steps: []Step{
		submit(jobSpec{name: "filler", ranks: 2, gpus: 8}),
		until("filler", runsWhole(2)),
		submit(jobSpec{name: "large", ranks: 3, gpus: 8}), // 2 nodes are free
		judged("large"),
		submit(jobSpec{name: "small", ranks: 1, gpus: 8}),
		until("small", runsWhole(1), attempt(1)),
		judged("large"),
		neverBound("large"),
		now("large", waits(), holds(0)),
		complete("filler"),
		until("large", runsWhole(3), attempt(1), spent(0, 0), neverFailed()),
		now("small", runsWhole(1), attempt(1)),
	},
}

var keepsItsPlace = Scenario{
	name:    "keeps-its-place",
	promise: "a preempted gang returns before a gang of its priority that was submitted later",
	needs:   []Capability{KeepsPlace},
	steps: []Step{
		submit(jobSpec{name: "victim", ranks: 4, gpus: 8, class: low}),
		until("victim", runsWhole(4)),
		aSecondLater(),
		submit(jobSpec{name: "later", ranks: 4, gpus: 8, class: low}),
		judged("later"),
		submit(jobSpec{name: "winner", ranks: 2, gpus: 8, class: high}),
		until("winner", runsWhole(2)),
		until("victim", is(v1alpha1.PhaseQueued), attempt(2), holds(0)),
		judged("victim"),
		complete("winner"),
		until("victim", runsWhole(4), attempt(2), spent(0, 1)),
		judged("later"),
		neverBound("later"),
	},
}

// passEnds waits by time, because a pass cannot be observed.
func passEnds() Step {
	return Step{"the scheduler has looked again at what waits", func(ctx context.Context, e *Env) error {
		if e.dialect.pass == 0 {
			return nil
		}
		return pass(ctx, e.dialect.pass+time.Second)
	}}
}
