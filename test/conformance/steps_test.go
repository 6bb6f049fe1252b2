//go:build cluster

package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func submit(a jobSpec) Step {
	return Step{fmt.Sprintf("%s is submitted", a.name), func(ctx context.Context, e *Env) error {
		return e.cluster.client.Create(ctx, a.job(e))
	}}
}

func remove(name string) Step {
	return Step{name + " is deleted", func(ctx context.Context, e *Env) error {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
		return e.cluster.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}}
}

// hold has a finalizer keep a job that is deleted, or lets it go.
func hold(name string, is bool) Step {
	return Step{fmt.Sprintf("a finalizer holds %s: %t", name, is), func(ctx context.Context, e *Env) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			job := &v1alpha1.TrainingJob{}
			key := client.ObjectKey{Namespace: e.namespace, Name: name}
			if err := e.cluster.client.Get(ctx, key, job); err != nil {
				return err
			}
			job.Finalizers = nil
			if is {
				job.Finalizers = []string{"conformance.example.com/holds"}
			}
			return e.cluster.client.Update(ctx, job)
		})
	}}
}

// makeQueue makes a queue with a quota. It is outside of the namespace and is deleted at the end of the
// scenario.
func makeQueue(name, gpus string) Step {
	return Step{fmt.Sprintf("queue %s has %s GPUs", name, gpus), func(ctx context.Context, e *Env) error {
		return e.makeQueue(ctx, name, gpus)
	}}
}

func (e *Env) makeQueue(ctx context.Context, name, gpus string) error {
	for _, o := range e.dialect.queue(e.namespace, name, gpus) {
		// Delete the queue last: jobs name it until they are gone.
		e.undo = slices.Insert(e.undo, 0, func(ctx context.Context) error {
			// It may have been deleted with the namespace.
			return client.IgnoreNotFound(e.cluster.client.Delete(ctx, o))
		})
		if err := e.cluster.client.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// aSecondLater separates submissions: creation times have a resolution of one second, and schedulers order by
// them.
func aSecondLater() Step {
	return Step{"a second passes", func(ctx context.Context, _ *Env) error { return pass(ctx, time.Second) }}
}

// pass waits by time, for what cannot be observed.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func suspend(name string, is bool) Step {
	return Step{fmt.Sprintf("suspend of %s is set to %t", name, is), func(ctx context.Context, e *Env) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			job := &v1alpha1.TrainingJob{}
			if err := e.cluster.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: name},
				job); err != nil {
				return err
			}
			job.Spec.RunPolicy.Suspend = ptr.To(is)
			return e.cluster.client.Update(ctx, job)
		})
	}}
}

// complete makes every rank of the job exit with 0.
func complete(name string) Step {
	return Step{"the ranks of " + name + " exit 0", func(ctx context.Context, e *Env) error {
		return e.endPods(ctx, 0, func(p *corev1.Pod) bool { return p.Labels[v1alpha1.LabelJobName] == name })
	}}
}

// exit ends one rank with an exit code.
func exit(pod string, code int) Step {
	return Step{fmt.Sprintf("%s exits with %d", pod, code), func(ctx context.Context, e *Env) error {
		return e.endPods(ctx, code, func(p *corev1.Pod) bool { return p.Name == pod })
	}}
}

// endPods ends pods through the annotations that a fake node obeys.
func (e *Env) endPods(ctx context.Context, code int, chosen func(*corev1.Pod) bool) error {
	pods := &corev1.PodList{}
	if err := e.cluster.client.List(ctx, pods, client.InNamespace(e.namespace)); err != nil {
		return err
	}
	n := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if !chosen(p) || !Live(p) {
			continue
		}
		n++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"0",%q:"%d"}}}`,
			localcluster.AnnotationRunSeconds, localcluster.AnnotationExitCode, code)
		if err := e.cluster.client.Patch(ctx, p, client.RawPatch("application/merge-patch+json",
			[]byte(patch))); err != nil {
			return err
		}
	}
	if n == 0 {
		return errors.New("there is no such pod that lives")
	}
	return nil
}

// deletePod as a user with kubectl does.
func deletePod(name string) Step {
	return Step{name + " is deleted by hand", func(ctx context.Context, e *Env) error {
		return e.cluster.client.Delete(ctx,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}})
	}}
}

// until waits until all expectations of a job are met at once.
func until(name string, expected ...Expectation) Step {
	return Step{"until " + name + " " + describeAll(expected), func(ctx context.Context, e *Env) error {
		return e.recorder.until(ctx, func(v *view) string { return missing(e, v, name, expected) })
	}}
}

// now checks the expectations of a job against the API server instead of the watches.
func now(name string, expected ...Expectation) Step {
	return Step{"now " + name + " " + describeAll(expected), func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		if what := missing(e, v, name, expected); what != "" {
			return errors.New(what)
		}
		return nil
	}}
}

// untilOne waits until one of two jobs meets the expectations. The steps that follow learn which one it was.
func untilOne(names [2]string, expected []Expectation, then func(first, other string) []Step) Step {
	return Step{fmt.Sprintf("until one of %s and %s %s", names[0], names[1], describeAll(expected)),
		func(ctx context.Context, e *Env) error {
			first, other := names[0], names[1]
			err := e.recorder.until(ctx, func(v *view) string {
				why := missing(e, v, names[0], expected)
				if first, other = names[0], names[1]; why != "" && missing(e, v, names[1], expected) == "" {
					first, other, why = names[1], names[0], ""
				}
				return why
			})
			if err != nil {
				return err
			}
			return e.play(context.WithoutCancel(ctx), then(first, other))
		}}
}

// judged waits until the scheduler has looked at the gang's current attempt and let it wait. It fails if a
// rank is bound meanwhile.
func judged(name string) Step {
	return Step{"until the scheduler has judged " + name, func(ctx context.Context, e *Env) error {
		var bound error
		err := e.recorder.until(ctx, func(v *view) string {
			if job := v.jobs[name]; job != nil {
				if bound = noneBound(v, job); bound != nil {
					return ""
				}
			}
			return e.dialect.judged(v, v.jobs[name])
		})
		return errors.Join(err, bound)
	}}
}

func noneBound(v *view, job *v1alpha1.TrainingJob) error {
	for _, p := range v.podsOf(job.Name) {
		if p.Spec.NodeName != "" && JobOf(p) == job.UID && AttemptOf(p) == job.Status.Attempt {
			return fmt.Errorf("%s is bound", p.Name)
		}
	}
	return nil
}

// neverBound checks that no rank of the job's current attempt was bound at any time. It proves something only
// after judged.
func neverBound(name string) Step {
	return Step{"no rank of " + name + " was ever bound", func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		job := v.jobs[name]
		if job == nil {
			return errors.New("there is no such job")
		}
		if err := noneBound(v, job); err != nil {
			return err
		}
		if bound := e.recorder.soFar().EverBound(job.UID, job.Status.Attempt); len(bound) > 0 {
			return fmt.Errorf("%s held a node", strings.Join(bound, ", "))
		}
		return nil
	}}
}

// nothingLeft waits until a deleted job has neither pods nor group nor Service.
func nothingLeft(name string) Step {
	return Step{"until nothing is left of " + name, func(ctx context.Context, e *Env) error {
		err := e.recorder.until(ctx, func(v *view) string {
			if v.jobs[name] != nil {
				return "the job exists"
			}
			return missing(e, v, name, []Expectation{hasNoPods(), hasNoGroup()})
		})
		if err != nil {
			return err
		}
		return e.untilNoService(ctx, name)
	}}
}

// look reads jobs and pods from the API server, and groups from the watch.
func (e *Env) look(ctx context.Context) (*view, error) {
	v := newView()
	jobs, pods := &v1alpha1.TrainingJobList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{jobs, pods} {
		if err := e.cluster.client.List(ctx, list, client.InNamespace(e.namespace)); err != nil {
			return nil, err
		}
	}
	for i := range jobs.Items {
		v.take(&jobs.Items[i], false)
	}
	for i := range pods.Items {
		v.take(&pods.Items[i], false)
	}
	e.recorder.mu.Lock()
	defer e.recorder.mu.Unlock()
	for _, g := range e.recorder.view.groups {
		v.take(g, false)
	}
	v.dropped = slices.Clone(e.recorder.view.dropped)
	return v, nil
}

func (e *Env) untilNoService(ctx context.Context, name string) error {
	return poll(ctx, func(ctx context.Context) (string, error) {
		err := e.cluster.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, &corev1.Service{})
		if !apierrors.IsNotFound(err) {
			return "its Service exists", err
		}
		named, err := e.namesOf(ctx, name)
		if len(named) > 0 {
			return fmt.Sprintf("host names lead to %d ranks", len(named)), err
		}
		return "", err
	})
}

// named waits until host names resolve to the ranks of the job's current attempt, and to no other pod.
func named(name string) Step {
	return Step{"until the ranks of " + name + " are named", func(ctx context.Context, e *Env) error {
		return poll(ctx, func(ctx context.Context) (string, error) {
			v, err := e.look(ctx)
			if err != nil {
				return "", err
			}
			ranks := map[string]types.UID{}
			for _, p := range v.podsOf(name) {
				ranks[p.Status.PodIP] = p.UID
			}
			got, err := e.namesOf(ctx, name)
			if !maps.Equal(got, ranks) {
				return fmt.Sprintf("host names lead to %v, the ranks are %v", got, ranks), err
			}
			return "", err
		})
	}}
}

// namesOf are the pods to which the host names of a job lead, by address.
func (e *Env) namesOf(ctx context.Context, name string) (map[string]types.UID, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := e.cluster.client.List(ctx, list, client.InNamespace(e.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: name})
	names := map[string]types.UID{}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			names[endpoint.Addresses[0]] = endpoint.TargetRef.UID
		}
	}
	return names, err
}
