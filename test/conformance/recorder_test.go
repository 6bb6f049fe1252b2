//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// view is what exists in the namespace according to the watches so far.
type view struct {
	jobs   map[string]*v1alpha1.TrainingJob
	pods   map[types.UID]*corev1.Pod
	groups map[types.UID]client.Object
	// dropped are the names of groups that were deleted at any time.
	dropped []string
}

func newView() *view {
	return &view{
		jobs: map[string]*v1alpha1.TrainingJob{}, pods: map[types.UID]*corev1.Pod{},
		groups: map[types.UID]client.Object{},
	}
}

func (v *view) take(obj client.Object, gone bool) {
	switch o := obj.(type) {
	case *v1alpha1.TrainingJob:
		if now := v.jobs[o.Name]; gone && now != nil && now.UID == o.UID {
			delete(v.jobs, o.Name)
		} else if !gone {
			v.jobs[o.Name] = o
		}
	case *corev1.Pod:
		if v.pods[o.UID] = o; gone {
			delete(v.pods, o.UID)
		}
	default:
		if v.groups[o.GetUID()] = o; gone {
			delete(v.groups, o.GetUID())
			v.dropped = append(v.dropped, o.GetName())
		}
	}
}

// podsOf returns the ranks of every job of this name, past ones included.
func (v *view) podsOf(job string) []*corev1.Pod {
	return v.podsThat(job, func(p *corev1.Pod) bool { return !render.IsResolver(p) })
}

// resolversOf returns the pods that search a job's volume.
func (v *view) resolversOf(job string) []*corev1.Pod { return v.podsThat(job, render.IsResolver) }

func (v *view) podsThat(job string, are func(*corev1.Pod) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range v.pods {
		if p.Labels[v1alpha1.LabelJobName] == job && are(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

func (v *view) groupsOf(job string) []client.Object {
	var groups []client.Object
	for _, g := range v.groups {
		if g.GetLabels()[v1alpha1.LabelJobName] == job {
			groups = append(groups, g)
		}
	}
	return groups
}

// recorder watches a namespace from before its first object to after its last.
type recorder struct {
	client  client.WithWatch
	stop    context.CancelFunc
	watches sync.WaitGroup

	mu      sync.Mutex
	view    *view
	history History
	err     error
	changed chan struct{}
}

// newRecorder watches jobs, pods and the groups of a kind.
func newRecorder(ctx context.Context, c client.WithWatch, namespace string,
	group schema.GroupVersionKind) (*recorder, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &recorder{client: c, stop: stop, view: newView(), changed: make(chan struct{})}
	groups := &unstructured.UnstructuredList{}
	groups.SetGroupVersionKind(group.GroupVersion().WithKind(group.Kind + "List"))
	lists := []client.ObjectList{&v1alpha1.TrainingJobList{}, &corev1.PodList{}, groups}
	if typed, err := c.Scheme().New(groups.GroupVersionKind()); err == nil {
		lists[2] = typed.(client.ObjectList)
	}
	for _, list := range lists {
		if err := r.follow(ctx, list, namespace); err != nil {
			stop()
			return nil, err
		}
	}
	return r, nil
}

func (r *recorder) follow(ctx context.Context, list client.ObjectList, namespace string) error {
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing before the watch: %w", err)
	}
	// The API server ends the watch of a client that is slow, as on a busy machine: it resumes where it ended.
	watchFunc := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return r.client.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &o})
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(),
		&cache.ListWatch{WatchFuncWithContext: watchFunc})
	if err != nil {
		return fmt.Errorf("watching %T: %w", list, err)
	}
	r.watches.Go(func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			r.take(event)
		}
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("the watch of %T has ended", list))
		}
	})
	return nil
}

func (r *recorder) take(event watch.Event) {
	obj, ok := event.Object.(client.Object)
	if !ok || event.Type == watch.Error {
		r.fail(fmt.Errorf("a watch says %s: %v", event.Type, event.Object))
		return
	}
	gone := event.Type == watch.Deleted
	entry, err := NewEntry(obj, gone, time.Now())
	if err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view.take(obj, gone)
	r.history = append(r.history, entry)
	r.notify()
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	r.notify()
}

// notify those who wait. The caller holds the lock.
func (r *recorder) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// remark adds a line to the history.
func (r *recorder) remark(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := Entry{At: time.Now(), Remark: fmt.Sprintf(format, args...)}
	if n := len(r.history); n > 0 {
		e.Revision = r.history[n-1].Revision
	}
	r.history = append(r.history, e)
}

// next returns a channel that is closed at the next change.
func (r *recorder) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// until waits until missing returns "". It is called after every change.
func (r *recorder) until(ctx context.Context, missing func(*view) string) error {
	for {
		r.mu.Lock()
		what, err, changed := missing(r.view), r.err, r.changed
		r.mu.Unlock()
		switch {
		case err != nil:
			return err
		case what == "":
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s (%w)", what, context.Cause(ctx))
		}
	}
}

// soFar returns the history up to now.
func (r *recorder) soFar() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.InOrder()
}

func (r *recorder) close() {
	r.stop()
	r.watches.Wait()
}
