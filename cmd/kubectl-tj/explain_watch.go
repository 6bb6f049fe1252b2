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

// follow explains a job again whenever that says something else, until the job has ended or is gone, or the
// context ends: who interrupts it has seen enough.
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
	// said is what was printed last; nil: nothing yet.
	said *explain.Explanation
}

// once reads the job and watches it from there. again: the API server no longer knows what has happened
// since, so it is to be read anew.
func (f *follower) once(ctx context.Context) (again bool, err error) {
	job, err := f.client.job(ctx, f.name)
	if err != nil && apierrors.IsNotFound(err) && f.said != nil {
		f.gone()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := f.tell(job); err != nil || job.Status.Phase.Finished() {
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
			f.gone()
			return false, nil
		case is:
			if err := f.tell(job); err != nil || job.Status.Phase.Finished() {
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

func (f *follower) gone() { fmt.Fprintf(f.err, "%s/%s is gone\n", f.client.namespace, f.name) }

// tell prints the explanation, unless it says what was said last.
func (f *follower) tell(job *v1alpha1.TrainingJob) error {
	e := explain.Of(job, f.now.Now().UTC())
	timeless(&e)
	if f.said != nil && reflect.DeepEqual(*f.said, e) {
		return nil
	}
	if f.said != nil {
		if err := f.separate(); err != nil {
			return err
		}
	}
	f.said = &e
	return f.show(job)
}

// separate what is printed from what was printed before.
func (f *follower) separate() error {
	with := map[string]string{"": "\n", "yaml": "---\n"}[f.format] // JSON values need nothing between them
	if _, err := fmt.Fprint(f.out, with); err != nil {
		return codedError{exitError, fmt.Errorf("printing: %w", err)}
	}
	return nil
}

// timeless leaves out what changes by itself: how long it has been, and when it was looked at.
func timeless(e *explain.Explanation) {
	e.ForSeconds = 0
	if e.Blocker != nil {
		e.Blocker.Observed = nil
	}
	if e.Preemption != nil {
		e.Preemption.Observed = nil
	}
}

// oneObject watches the one job of a name.
type oneObject struct {
	client connected
	name   string
}

// WatchWithContext implements cache.WatcherWithContext. That the version is too old ends the watcher, which
// would else ask for it again and again.
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
