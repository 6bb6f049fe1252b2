package clusterstate

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Sources feeds a Cluster with what the manager's caches do not hold: bound pods, priority classes, device
// classes with templates of claims, and the objects that Explainers ask for. It is a manager.Runnable.
type Sources struct {
	cluster *Cluster
	client  client.WithWatch
	// changed is called after a change that may give a waiting job another reason. It must not block.
	changed func()

	mu sync.Mutex
	// ctx is that of Start; nil before.
	ctx      context.Context
	followed map[schema.GroupVersionKind]followed
	running  sync.WaitGroup
}

// followed is a kind that not every cluster serves.
type followed struct {
	// sink for what a namespace's list has.
	sink func(namespace string) *sink
	// scopes are the namespaces that are listed one by one, or allNamespaces.
	scopes []string
}

// NewSources returns Sources that read by a client without a cache.
func NewSources(cluster *Cluster, c client.WithWatch, changed func()) *Sources {
	return &Sources{
		cluster: cluster, client: c, changed: changed,
		followed: map[schema.GroupVersionKind]followed{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby's state is warm when it is
// elected.
func (s *Sources) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *Sources) Start(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	for _, namespace := range s.scopes() {
		s.run(podSink(s.cluster, namespace), s.boundPods(namespace))
	}
	s.run(classSink(s.cluster),
		s.lister(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), allNamespaces, nil))
	for gvk, f := range s.followed {
		s.runFollowed(gvk, f)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.running.Wait()
	return nil
}

// scopes are the namespaces to list what has a namespace from.
func (s *Sources) scopes() []string {
	if len(s.cluster.namespaces) == 0 {
		return []string{allNamespaces}
	}
	return s.cluster.namespaces
}

// Follow feeds the objects of a kind that an Explainer asks for, from now on. The cluster must serve it.
func (s *Sources) Follow(e scheduler.Explainer, gvk schema.GroupVersionKind) error {
	return s.follow(gvk, func(namespace string) *sink { return s.objectSink(gvk, namespace, e) })
}

// FollowDevices feeds one of DeviceKinds, from now on. The cluster must serve it.
func (s *Sources) FollowDevices(gvk schema.GroupVersionKind) error {
	if gvk == DeviceClassKind {
		return s.follow(gvk, s.deviceClassSink)
	}
	return s.follow(gvk, s.claimTemplateSink)
}

func (s *Sources) follow(gvk schema.GroupVersionKind, to func(namespace string) *sink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.followed[gvk]; known {
		return nil
	}
	f := followed{sink: to, scopes: []string{allNamespaces}}
	if len(s.cluster.namespaces) > 0 {
		namespaced, err := apiutil.IsGVKNamespaced(gvk, s.client.RESTMapper())
		if err != nil {
			return fmt.Errorf("asking whether a %s has a namespace: %w", gvk.Kind, err)
		}
		if namespaced {
			f.scopes = s.scopes()
		}
	}
	s.followed[gvk] = f
	s.cluster.follow(gvk)
	if s.ctx != nil {
		s.runFollowed(gvk, f)
	}
	return nil
}

// runFollowed starts the reflectors of a kind. The caller holds the lock.
func (s *Sources) runFollowed(gvk schema.GroupVersionKind, f followed) {
	for _, namespace := range f.scopes {
		s.run(f.sink(namespace), s.lister(gvk, namespace, nil))
	}
}

// run starts a reflector that ends with the context of Start. The caller holds the lock.
func (s *Sources) run(to *sink, from cache.ListerWatcher) {
	ctx := s.ctx
	s.running.Go(func() {
		options := cache.ReflectorOptions{Name: "clusterstate"}
		cache.NewReflectorWithOptions(from, to.example, to, options).RunWithContext(ctx)
	})
}

// boundPods lists and watches the pods that are bound and have not ended: the API server leaves out all
// others, and reports a pod that ends as deleted.
func (s *Sources) boundPods(namespace string) cache.ListerWatcher {
	return s.lister(scheduler.PodKind, namespace, fields.AndSelectors(
		fields.OneTermNotEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	))
}

func (s *Sources) lister(
	gvk schema.GroupVersionKind, namespace string, selector fields.Selector,
) cache.ListerWatcher {
	options := func(raw metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{Raw: &raw, Namespace: namespace, FieldSelector: selector}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list, err := s.newList(gvk)
			if err != nil {
				return nil, err
			}
			return list, s.client.List(ctx, list, options(raw))
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			list, err := s.newList(gvk)
			if err != nil {
				return nil, err
			}
			return s.client.Watch(ctx, list, options(raw))
		},
	}
}

// newList returns an empty list of a kind, unstructured where the scheme has no type.
func (s *Sources) newList(gvk schema.GroupVersionKind) (client.ObjectList, error) {
	gvk.Kind += "List"
	if !s.client.Scheme().Recognizes(gvk) {
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	}
	empty, err := s.client.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", gvk.Kind, err)
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("making a %s: %T is no list", gvk.Kind, empty)
	}
	return list, nil
}

// sink is what a reflector takes for its store. It passes everything on and keeps nothing.
type sink struct {
	example   any
	set, drop func(any)
	replace   func([]any)
	trim      cache.TransformFunc
}

var _ cache.TransformingStore = &sink{}

// Add, Update, Delete, Replace and Resync implement cache.ReflectorStore.
func (s *sink) Add(o any) error    { s.set(o); return nil }
func (s *sink) Update(o any) error { s.set(o); return nil }
func (s *sink) Delete(o any) error {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	s.drop(o)
	return nil
}
func (s *sink) Replace(all []any, _ string) error { s.replace(all); return nil }
func (s *sink) Resync() error                     { return nil }

// Transformer implements cache.TransformingStore. The reflector collects the whole first list before it calls
// Replace; trimmed, that list takes a fraction of the memory.
func (s *sink) Transformer() cache.TransformFunc { return s.trim }

// trimPod keeps what SetPod reads.
func trimPod(in any) (any, error) {
	p, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	p.ManagedFields = nil
	p.Spec.Volumes, p.Spec.Affinity, p.Spec.Tolerations = nil, nil, nil
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i] = corev1.Container{Name: list[i].Name, Resources: list[i].Resources,
				RestartPolicy: list[i].RestartPolicy}
		}
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			list[i] = corev1.ContainerStatus{
				Name: list[i].Name, Resources: list[i].Resources, AllocatedResources: list[i].AllocatedResources,
			}
		}
	}
	return p, nil
}

func podSink(c *Cluster, namespace string) *sink {
	return &sink{
		example: &corev1.Pod{}, trim: trimPod,
		set: func(o any) {
			if p, ok := o.(*corev1.Pod); ok {
				c.SetPod(p)
			}
		},
		drop: func(o any) {
			if p, ok := o.(*corev1.Pod); ok {
				c.DropPod(p.Namespace, p.UID)
			}
		},
		replace: func(all []any) { c.SetPods(namespace, typed[*corev1.Pod](all)) },
	}
}

func classSink(c *Cluster) *sink {
	return &sink{
		example: &schedulingv1.PriorityClass{},
		set: func(o any) {
			if p, ok := o.(*schedulingv1.PriorityClass); ok {
				c.SetClass(p)
			}
		},
		drop: func(o any) {
			if p, ok := o.(*schedulingv1.PriorityClass); ok {
				c.DropClass(p.Name)
			}
		},
		replace: func(all []any) {
			var classes []schedulingv1.PriorityClass
			for _, p := range typed[*schedulingv1.PriorityClass](all) {
				classes = append(classes, *p)
			}
			c.SetClasses(classes)
		},
	}
}

// objectSink feeds a kind that an Explainer asks for.
func (s *Sources) objectSink(gvk schema.GroupVersionKind, namespace string, e scheduler.Explainer) *sink {
	var example any
	if s.client.Scheme().Recognizes(gvk) {
		example, _ = s.client.Scheme().New(gvk)
	}
	trimmed := func(o any) (client.Object, bool) {
		obj, ok := o.(client.Object)
		if ok {
			obj.SetManagedFields(nil)
		}
		return obj, ok
	}
	return &sink{
		example: example,
		set: func(o any) {
			if obj, ok := trimmed(o); ok {
				if old := s.cluster.SetObject(gvk, obj); e.Matters(old, obj) {
					s.changed()
				}
			}
		},
		drop: func(o any) {
			if obj, ok := o.(client.Object); ok {
				s.cluster.DropObject(gvk, obj)
				s.changed()
			}
		},
		replace: func(all []any) {
			objects := typed[client.Object](all)
			for _, obj := range objects {
				obj.SetManagedFields(nil)
			}
			s.cluster.SetObjects(gvk, namespace, objects)
			s.changed()
		},
	}
}

func typed[T any](all []any) []T {
	list := make([]T, 0, len(all))
	for _, o := range all {
		if t, ok := o.(T); ok {
			list = append(list, t)
		}
	}
	return list
}
