//go:build cluster

package conformance

import (
	"context"
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// priorityAfterAbsence: no gang has failed to be placed, so none backs off, and the scheduler's own order
// decides.
var priorityAfterAbsence = Scenario{
	name:    "priority-after-absence",
	promise: "gangs submitted while the scheduler was down start in order of priority, not of submission",
	needs:   []Capability{PriorityAfterDowntime},
	steps: []Step{
		schedulerGoes(),
		submit(jobSpec{name: "early-low", ranks: 2, gpus: 8, class: low}),
		until("early-low", isOffered(2)),
		submit(jobSpec{name: "late-high", ranks: 2, gpus: 8, class: high}),
		until("late-high", isOffered(2)),
		// 4 nodes hold two of the three gangs
		submit(jobSpec{name: "last-middle", ranks: 2, gpus: 8, class: middle}),
		until("last-middle", isOffered(2)),
		schedulerReturns(),
		until("late-high", runsWhole(2), attempt(1)),
		until("last-middle", runsWhole(2), attempt(1)),
		judged("early-low"),
		neverBound("early-low"),
		now("early-low", is(v1alpha1.PhaseQueued), holds(0), attempt(1)),
		now("late-high", attempt(1), spent(0, 0), neverFailed()),
		now("last-middle", attempt(1), spent(0, 0), neverFailed()), // neither was started and preempted
		complete("late-high"),
		until("early-low", runsWhole(2), attempt(1), spent(0, 0), neverFailed()),
	},
}

// isOffered expects the gang's group, and its pods unless the scheduler holds them back.
func isOffered(ranks int) Expectation {
	return Expectation{fmt.Sprintf("is offered to the scheduler with %d ranks", ranks),
		func(e *Env, v *view, name string) string {
			if groups := len(v.groupsOf(name)); groups != 1 {
				return differs("the number of its groups", groups, 1)
			}
			if verdict, pods := e.dialect.verdict(v, v.jobs[name]); verdict.Admission == scheduler.Go {
				return differs("the number of its pods", pods, ranks)
			}
			return ""
		}}
}

// schedulerGoes, until it returns or the scenario ends.
func schedulerGoes() Step {
	return Step{"the scheduler goes away", func(ctx context.Context, e *Env) error {
		if e.dialect.behavior != nil {
			e.stopFake()
			return nil
		}
		e.later(e.schedulerReturns) // a process that runs already is left alone
		return e.cluster.StopProcess(ctx, e.dialect.process)
	}}
}

func schedulerReturns() Step {
	return Step{"the scheduler returns", func(ctx context.Context,
		e *Env) error {
		return e.schedulerReturns(ctx)
	}}
}

func (e *Env) schedulerReturns(ctx context.Context) error {
	if e.dialect.behavior != nil {
		e.startFake()
		return nil
	}
	return e.cluster.StartProcess(ctx, e.dialect.process)
}
