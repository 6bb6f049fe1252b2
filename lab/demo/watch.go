package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// recorder turns watches into records. It uses no informer: after a broken watch an informer can list again,
// and would miss states that the verdict needs.
type recorder struct {
	client    client.WithWatch
	namespace string
	records   chan<- Record
}

// start lists the objects and watches from there, one watch per kind, until the context ends. It sends an
// error to lost when a watch cannot be resumed without a gap.
func (r recorder) start(ctx context.Context, lost chan<- error) error {
	inNamespace := client.InNamespace(r.namespace)
	for _, source := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{
		{&corev1.NodeList{}, nil},
		{&v1alpha1.TrainingJobList{}, []client.ListOption{inNamespace}},
		{&corev1.PodList{}, []client.ListOption{inNamespace}},
	} {
		if err := r.client.List(ctx, source.list, source.options...); err != nil {
			return fmt.Errorf("listing %T: %w", source.list, err)
		}
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, source.list.GetResourceVersion(),
			r.watcher(source.list, source.options))
		if err != nil {
			return fmt.Errorf("watching %T: %w", source.list, err)
		}
		go func() {
			if err := r.forward(ctx, source.list, watcher.ResultChan()); ctx.Err() == nil {
				lost <- fmt.Errorf("watching %T: %w", source.list, err)
			}
		}()
	}
	return nil
}

// watcher watches the kind of the list from a resource version on.
func (r recorder) watcher(list client.ObjectList, options []client.ListOption) cache.WatcherWithContext {
	return &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context,
		raw metav1.ListOptions) (watch.Interface, error) {
		all := append([]client.ListOption{&client.ListOptions{Raw: &raw}}, options...)
		return r.client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), all...)
	}}
}

// forward sends a record for each listed object, then for each event. It returns why the watch ended.
func (r recorder) forward(ctx context.Context, list client.ObjectList, events <-chan watch.Event) error {
	err := meta.EachListItem(list, func(object runtime.Object) error { return r.send(ctx, watch.Added, object) })
	if err != nil {
		return err
	}
	for event := range events {
		switch event.Type {
		case watch.Bookmark:
			continue
		case watch.Error:
			return fmt.Errorf("the watch ended: %w", apierrors.FromObject(event.Object))
		}
		if err := r.send(ctx, event.Type, event.Object); err != nil {
			return err
		}
	}
	return errors.New("the watch ended")
}

func (r recorder) send(ctx context.Context, event watch.EventType, object runtime.Object) error {
	record, err := newRecord(event, object, time.Now())
	if err != nil {
		return err
	}
	select {
	case r.records <- record:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
