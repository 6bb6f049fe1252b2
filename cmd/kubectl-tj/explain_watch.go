package main

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// follow prints each change of a job's explanation until the job ends or is deleted, or the context ends. An
// interrupt is not an error.
func (o *explainOptions) follow(ctx context.Context, c connected, name string) error {
	f := &follower{explainOptions: o, client: c, name: name}
	for {
		again, err := f.once(ctx)
		if !again || err != nil || ctx.Err() != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// follower of one job.
type follower struct {
	*explainOptions
	client connected
	name   string
	// printed is the last explanation; nil before the first.
	printed *explain.Explanation
}

// once reads the job and watches it from there. again is true if the watch expired: read the job again.
func (f *follower) once(ctx context.Context) (again bool, err error) {
	job, err := f.client.job(ctx, f.name)
	if err != nil && apierrors.IsNotFound(err) && f.printed != nil {
		f.reportDeletion()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := f.printChange(job); err != nil || job.Status.Phase.Finished() {
		return false, err
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, job.ResourceVersion, oneObject{f.client, f.name})
	if err != nil {
		return false, codedError{exitError, fmt.Errorf("watching the job: %w", err)}
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		job, is := event.Object.(*v1alpha1.TrainingJob)
		switch {
		case event.Type == watch.Deleted:
			f.reportDeletion()
			return false, nil
		case is:
			if err := f.printChange(job); err != nil || job.Status.Phase.Finished() {
				return false, err
			}
		case event.Type == watch.Error:
			if err := apierrors.FromObject(event.Object); !expired(err) {
				return false, failed(err, "watch", f.client.namespace)
			}
			return true, nil
		}
	}
	return false, nil // the context has ended
}

func (f *follower) reportDeletion() {
	fmt.Fprintf(f.err, "%s/%s was deleted\n", f.client.namespace, f.name)
}

// printChange prints the explanation unless it equals the last one.
func (f *follower) printChange(job *v1alpha1.TrainingJob) error {
	e := explain.Of(job, f.now.Now().UTC())
	timeless(&e)
	if f.printed != nil && reflect.DeepEqual(*f.printed, e) {
		return nil
	}
	if f.printed != nil {
		if err := f.separate(); err != nil {
			return err
		}
	}
	f.printed = &e
	return f.show(job)
}

// separate prints a separator between two explanations.
func (f *follower) separate() error {
	with := map[string]string{"": "\n", "yaml": "---\n"}[f.format] // JSON values need no separator
	if _, err := fmt.Fprint(f.out, with); err != nil {
		return codedError{exitError, fmt.Errorf("printing: %w", err)}
	}
	return nil
}

// timeless clears the durations and times that change even if the job does not.
func timeless(e *explain.Explanation) {
	e.ForSeconds = 0
	if e.Blocker != nil {
		e.Blocker.Observed = nil
	}
	if e.Preemption != nil {
		e.Preemption.Observed = nil
	}
	if e.Liveness != nil && e.Liveness.State != v1alpha1.LivenessHung {
		e.Liveness.LastProgress, e.Liveness.Step = nil, nil
	}
}

// oneObject watches one job.
type oneObject struct {
	client connected
	name   string
}

// WatchWithContext implements cache.WatcherWithContext. A version that is too old ends the watcher, which
// would otherwise retry without end.
func (o oneObject) WatchWithContext(
	ctx context.Context, options metav1.ListOptions,
) (watch.Interface, error) {
	w, err := o.client.Watch(ctx, &v1alpha1.TrainingJobList{}, &client.ListOptions{
		Namespace: o.client.namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", o.name),
		Raw: &options,
	})
	if err != nil && expired(err) {
		status := apierrors.NewResourceExpired(err.Error()).Status()
		ended := watch.NewFakeWithChanSize(1, false)
		ended.Error(&status)
		return ended, nil
	}
	return w, err
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
