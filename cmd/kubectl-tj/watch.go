package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// jobWatch follows one job.
type jobWatch struct {
	client connected
	name   string
	// seen receives each version of the job that the watch delivers.
	seen func(*v1alpha1.TrainingJob) error
	read bool // at least once
}

// run follows the job until it ends or is deleted, or the context ends, which is no error.
func (w *jobWatch) run(ctx context.Context) (deleted bool, err error) {
	for {
		again, deleted, err := w.once(ctx)
		if ctx.Err() != nil {
			return false, nil
		}
		if !again || err != nil {
			return deleted, err
		}
	}
}

// once reads the job and watches it from there. again is true if the watch expired: read the job again.
func (w *jobWatch) once(ctx context.Context) (again, deleted bool, err error) {
	job, err := w.client.job(ctx, w.name)
	if err != nil && apierrors.IsNotFound(err) && w.read {
		return false, true, nil
	}
	if err != nil {
		return false, false, err
	}
	w.read = true
	if err := w.seen(job); err != nil || job.Status.Phase.Finished() {
		return false, false, err
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, job.ResourceVersion, oneObject{w.client, w.name})
	if err != nil {
		return false, false, codedError{exitError, fmt.Errorf("watching the job: %w", err)}
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		job, is := event.Object.(*v1alpha1.TrainingJob)
		switch {
		case event.Type == watch.Deleted:
			return false, true, nil
		case is:
			if err := w.seen(job); err != nil || job.Status.Phase.Finished() {
				return false, false, err
			}
		case event.Type == watch.Error:
			if err := apierrors.FromObject(event.Object); !expired(err) {
				return false, false, failed(err, "watch", w.client.namespace)
			}
			return true, false, nil
		}
	}
	return false, false, nil // the context has ended
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
