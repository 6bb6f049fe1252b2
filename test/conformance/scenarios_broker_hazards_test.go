//go:build cluster

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Scenarios in which something comes between a plan and the gang that it is for.

// Classes of gangs that interfere with a plan. thief has a higher priority than urgent and does not preempt.
// sheltered has the priority of low, and protects gangs for an hour while the operator can preempt others.
const (
	thief     = "conformance-thief"
	sheltered = "conformance-sheltered"
)

const (
	// tears: it has saved 100 steps of 150, and its next save, for which it is asked, never becomes complete.
	tears = answers + " torn-at=150"
	// strolls: it has saved 100 steps of 150, and saves all of them within three seconds when it is asked.
	strolls = "steps=1000 rate=1000 every=100ms save=3s start=300ms stall-after=150 on-sigterm=die"
	// finishes in about 15 s.
	finishes = "steps=300 rate=20 every=2s save=500ms start=300ms"
)

func brokerHazards() []Scenario {
	return []Scenario{
		brokerCapacityStolen, brokerNodeLost, brokerTornSave, brokerVictimFails, brokerSparesFinishing,
		brokerMinRun, brokerForeignPreemptor, brokerSavesAhead,
	}
}

var brokerCapacityStolen = Scenario{
	name: "broker-capacity-stolen",
	promise: "when a gang of higher priority takes the freed capacity, the operator preempts other gangs; no " +
		"victim loses progress",
	needs: []Capability{DefersPreemption, ServesByPriority}, brokers: true,
	steps: slices.Concat(train(saver("a", 2, answers), saver("b", 2, answers)), []Step{
		submit(jobSpec{name: "thief", ranks: 2, gpus: 8, class: thief}),
		until("thief", is(v1alpha1.PhaseQueued), blockedBy(v1alpha1.ReasonInsufficientResources)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("thief", runsWhole(2)),
		until("high", runsWhole(2), attempt(1)),
		now("high", spent(0, 0), ranksOfClass(urgentWaits)),
		now("thief", runsWhole(2), attempt(1), spent(0, 0)),
	}, yielded("a", "b")),
}

var brokerNodeLost = Scenario{
	name: "broker-stale-node",
	promise: "when the node of a victim becomes unschedulable, the operator preempts a gang on another node; " +
		"no victim loses progress",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: append(train(saver("a", 2, answers), saver("b", 2, answers)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		untilOne([2]string{"a", "b"}, []Expectation{is(v1alpha1.PhaseDraining)}, func(first, other string) []Step {
			return slices.Concat([]Step{
				cordonNodeOf(first),
				until("high", runsWhole(2), attempt(1)),
			}, yielded(first, other))
		})),
}

var brokerTornSave = Scenario{
	name: "broker-torn-save",
	promise: "a victim whose checkpoint never completes is stopped in time; it resumes from the previous one " +
		"and counts as not having saved",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(saver("low", 4, tears)),
		until("low", runsWhole(4), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1)),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(saveSteps)),
		now("low", spent(0, 1), asked(1, 0)),
	},
}

var brokerVictimFails = Scenario{
	name: "broker-victim-fails",
	promise: "a victim that loses a rank while it saves is stopped at once; this counts as one preemption and " +
		"no failure",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(saver("low", 4, crawls)),
		until("low", runsWhole(4), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("low", is(v1alpha1.PhaseDraining), reason(v1alpha1.ReasonMakesRoom)),
		deletePod("low-worker-1"),
		until("high", runsWhole(2), attempt(1)),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(saveSteps)),
		now("low", spent(0, 1), neverFailed(), asked(1, 0)),
	},
}

var brokerSparesFinishing = Scenario{
	name: "broker-spares-finishing",
	promise: "the operator waits for a gang that is about to finish: it succeeds, and the preemptor then runs " +
		"without a preemption",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(jobSpec{name: "dear", ranks: 2, gpus: 8, class: low}),
		until("dear", runsWhole(2)),
		submit(saver("ends", 2, finishes)),
		until("ends", runsWhole(2), expectsAnEnd()),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("ends", is(v1alpha1.PhaseSucceeded)),
		now("ends", attempt(1), spent(0, 0), asked(0, 0)),
		until("high", runsWhole(2), attempt(1)),
		now("dear", runsWhole(2), attempt(1), spent(0, 0)),
	},
}

var brokerMinRun = Scenario{
	name: "broker-min-run",
	promise: "the operator preempts no gang that its class shelters while it can preempt others, even if " +
		"those cost more",
	needs: []Capability{DefersPreemption}, brokers: true,
	// A gang is sheltered for twice its save in any case.
	steps: slices.Concat(train(shelteredSaver("young", 2), saver("dear", 2, strolls)), []Step{
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("high", runsWhole(2), attempt(1)),
	}, yielded("dear"), []Step{now("young", runsWhole(2), attempt(1), spent(0, 0), asked(0, 0))}),
}

var brokerForeignPreemptor = Scenario{
	name:    "broker-foreign-preemptor",
	promise: "the scheduler itself preempts for a gang whose class names no waiting class",
	needs:   []Capability{DefersPreemption}, brokers: true,
	steps: []Step{
		submit(jobSpec{name: "low", ranks: 4, gpus: 8, class: low}),
		until("low", runsWhole(4), attempt(1)),
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: high}),
		until("high", runsWhole(2), attempt(1), ranksOfClass(high)),
		until("low", is(v1alpha1.PhaseQueued), attempt(2), holds(0)),
		now("low", spent(0, 1), asked(0, 0)),
	},
}

var brokerSavesAhead = Scenario{
	name: "broker-saves-ahead",
	promise: "a sheltered gang saves while the preemptor waits, and continues to train; when it yields later, " +
		"it loses no progress",
	needs: []Capability{DefersPreemption}, brokers: true,
	steps: slices.Concat(train(shelteredSaver("young", 4)), []Step{
		submit(jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}),
		until("young", runsWhole(4), attempt(1), saved(stallSteps), askedAhead("high")),
		until("high", runsWhole(2), attempt(1)),
	}, yielded("young")),
}

func shelteredSaver(name string, ranks int32) jobSpec {
	g := saver(name, ranks, answers)
	g.class = sheltered
	return g
}

// askedAhead expects that the trainer was asked to save and to train on.
func askedAhead(waiting string) Expectation {
	say := "was asked to save ahead, for " + waiting
	return ofStatus(say, func(st *v1alpha1.TrainingJobStatus) string {
		if st.Checkpoint == nil || st.Checkpoint.Ahead == nil {
			return "it was not asked to save ahead"
		}
		return differs("the job that it was asked for", st.Checkpoint.Ahead.Name, waiting)
	})
}

// expectsAnEnd expects that it is known when the training will be complete.
func expectsAnEnd() Expectation {
	return ofStatus("knows when it will finish", func(st *v1alpha1.TrainingJobStatus) string {
		if st.Progress == nil || st.Progress.EstimatedCompletionTime == nil {
			return "there is no estimate of its end"
		}
		return ""
	})
}

// cordonNodeOf cordons the node of a rank of a gang until the scenario is over.
func cordonNodeOf(name string) Step {
	return Step{"a node of " + name + " is cordoned", func(ctx context.Context, e *Env) error {
		pods := &corev1.PodList{}
		if err := e.cluster.client.List(ctx, pods, client.InNamespace(e.namespace),
			client.MatchingLabels{v1alpha1.LabelJobName: name}); err != nil {
			return err
		}
		if len(pods.Items) == 0 || pods.Items[0].Spec.NodeName == "" {
			return errors.New("none of its ranks has a node")
		}
		node := pods.Items[0].Spec.NodeName
		e.later(func(ctx context.Context) error { return e.cordon(ctx, node, false) })
		return e.cordon(ctx, node, true)
	}}
}

func (e *Env) cordon(ctx context.Context, name string, is bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := e.cluster.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		node.Spec.Unschedulable = is
		return e.cluster.client.Update(ctx, node)
	})
}
