//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// closed is a taint that keeps pods off a node. A cordon would not do: a controller removes its taint a
// moment after the node is uncordoned, and each of the two changes makes the scheduler try gangs.
const closed = "conformance.mlplatform.example.com/closed"

// priorityAtRest: a gang that could not be placed backs off, so a lower gang may be tried before a higher one
// that came later. Gangs whose backoff is over are tried in one round.
var priorityAtRest = Scenario{
	name: "priority-at-rest",
	promise: "capacity that becomes free at once goes to the gang of the highest priority whose backoff is " +
		"over, whatever the order of submission",
	needs: []Capability{PriorityAfterBackoff},
	steps: slices.Concat([]Step{
		closeNodes(3),
		submit(jobSpec{name: "filler", ranks: 1, gpus: 8, class: top}),
		until("filler", runsWhole(1)),
		submit(jobSpec{name: "early-low", ranks: 2, gpus: 4, class: low}),
		judged("early-low"),
		submit(jobSpec{name: "late-high", ranks: 2, gpus: 4, class: high}),
		judged("late-high"),
		submit(jobSpec{name: "last-middle", ranks: 2, gpus: 4, class: middle}),
		judged("last-middle"),
	},
		goesTo("late-high", "last-middle", "early-low"),
		goesTo("last-middle", "early-low"),
		goesTo("early-low"),
	),
}

// goesTo opens a node once every backoff is over. The winner takes it and the others wait.
func goesTo(winner string, others ...string) []Step {
	steps := []Step{pausesEnd(), openNode(), until(winner, runsWhole(2), attempt(1), spent(0, 0), neverFailed())}
	for _, other := range others {
		steps = append(steps, judged(other), neverBound(other),
			now(other, is(v1alpha1.PhaseQueued), holds(0), attempt(1)))
	}
	return steps
}

// pausesEnd waits by time, because the end of a backoff cannot be observed.
func pausesEnd() Step {
	return Step{"the scheduler's pauses are over", func(ctx context.Context, e *Env) error {
		if e.dialect.pause == 0 {
			return nil
		}
		return pass(ctx, e.dialect.pause+time.Second)
	}}
}

// closeNodes closes n nodes until they are opened or the scenario ends.
func closeNodes(n int) Step {
	return Step{fmt.Sprintf("%d nodes take nothing", n), func(ctx context.Context, e *Env) error {
		e.later(func(ctx context.Context) error {
			for {
				if more, err := e.openOne(ctx); err != nil || !more {
					return err
				}
			}
		})
		for _, name := range slices.Sorted(maps.Keys(e.nodes))[:n] {
			err := e.changeNode(ctx, name, func(node *corev1.Node) {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: closed,
					Effect: corev1.TaintEffectNoSchedule})
			})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// openNode opens one of the closed nodes.
func openNode() Step {
	return Step{"a node is opened", func(ctx context.Context, e *Env) error {
		found, err := e.openOne(ctx)
		if err == nil && !found {
			err = fmt.Errorf("no node is closed")
		}
		return err
	}}
}

func isClosed(t corev1.Taint) bool { return t.Key == closed }

func (e *Env) openOne(ctx context.Context) (found bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(e.nodes)) {
		err := e.changeNode(ctx, name, func(node *corev1.Node) {
			found = slices.ContainsFunc(node.Spec.Taints, isClosed)
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isClosed)
		})
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (e *Env) changeNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := e.cluster.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		change(node)
		return e.cluster.client.Update(ctx, node)
	})
}
