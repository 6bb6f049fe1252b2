//go:build cluster

package conformance

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Scenarios in which a scheduler that decides by quotas waits behind a gate until the operator has found out
// whose end costs least.

// priorityBoost is Kueue's annotation of a Workload. The operator sets it on gangs that Kueue should not
// preempt.
const priorityBoost = "kueue.x-k8s.io/priority-boost"

func gateScenarios() []Scenario {
	return []Scenario{gateCheapest, gateForeignBooster, gateHandsOver}
}

var gateCheapest = Scenario{
	name: "gate-cheapest",
	promise: "Kueue preempts the cheaper of two gangs of a class, not the younger; it has saved all progress, " +
		"and the other keeps no boost",
	needs: []Capability{HasPreemptionGate}, brokers: true,
	steps: []Step{
		submit(saver("cheap", 2, answers)),
		until("cheap", runsWhole(2), saved(saveSteps), trained(1, stallSteps)),
		aSecondLater(),
		submit(jobSpec{name: "dear", ranks: 2, gpus: 8, class: low}), // it saves nothing
		until("dear", runsWhole(2)),
		aSecondLater(),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1), ranksOfClass(urgent)),
		until("cheap", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps)),
		now("cheap", spent(0, 1), lostNothing()),
		until("dear", hasBoost("")),
		now("dear", runsWhole(2), attempt(1), spent(0, 0)),
		now("high", attempt(1), spent(0, 0), condition(v1alpha1.ConditionMakingRoom, "False")),
	},
}

var gateForeignBooster = Scenario{
	name:    "gate-foreign-booster",
	promise: "the operator respects and keeps a boost that another controller has set",
	needs:   []Capability{HasPreemptionGate}, brokers: true,
	steps: []Step{
		submit(saver("first", 2, answers)),
		until("first", runsWhole(2), saved(saveSteps), trained(1, stallSteps)),
		aSecondLater(),
		submit(saver("second", 2, answers)),
		until("second", runsWhole(2), saved(saveSteps), trained(1, stallSteps)),
		boostGroupOf("second", "5"), // now it is worth more than the older one
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1)),
		until("first", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps)),
		now("second", runsWhole(2), attempt(1), spent(0, 0), hasBoost("5")),
	},
}

var gateHandsOver = Scenario{
	name: "gate-hands-over",
	promise: "where all possible victims are sheltered, the scheduler preempts after half of the preemptor's " +
		"time, in its first attempt",
	needs: []Capability{HasPreemptionGate}, brokers: true,
	steps: []Step{
		submit(jobSpec{name: "low", ranks: 4, gpus: 8, class: sheltered}),
		until("low", runsWhole(4)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", is(v1alpha1.PhaseQueued), outcomeIs(v1alpha1.PreemptionOnlyProtected)),
		now("low", runsWhole(4), attempt(1), spent(0, 0)),
		until("high", runsWhole(2), attempt(1)),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0)),
		now("low", spent(0, 1)),
	},
}

// hasBoost expects the priority boost of a gang's Workload; "": none.
func hasBoost(want string) Expectation {
	return Expectation{fmt.Sprintf("has boost %q", want), func(_ *Env, v *view, name string) string {
		for _, group := range v.groupsOf(name) {
			if wl, ok := group.(*kueuev1beta2.Workload); ok {
				return differs("the boost of its Workload", wl.Annotations[priorityBoost], want)
			}
		}
		return "it has no Workload"
	}}
}

// boostGroupOf a gang, as another controller might.
func boostGroupOf(name, boost string) Step {
	return Step{"another controller boosts " + name + " by " + boost, func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		for _, group := range v.groupsOf(name) {
			if wl, ok := group.(*kueuev1beta2.Workload); ok {
				after := wl.DeepCopy()
				after.Annotations[priorityBoost] = boost
				return e.cluster.client.Patch(ctx, after, client.MergeFrom(wl))
			}
		}
		return fmt.Errorf("%s has no Workload", name)
	}}
}

// outcomeIs expects an outcome of the preemption in the status.
func outcomeIs(want v1alpha1.PreemptionOutcome) Expectation {
	return ofStatus(fmt.Sprintf("says %s", want), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Scheduling == nil || st.Scheduling.Preemption == nil {
			return "its status has no preemption"
		}
		return differs("the outcome of the preemption", string(st.Scheduling.Preemption.Outcome), string(want))
	})
}
