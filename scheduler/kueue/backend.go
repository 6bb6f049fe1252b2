package kueue

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "kueue"

// Options of the dialect.
type Options struct {
	// Binder places the pods that Kueue has admitted, all of a gang or none; nil: the cluster's default scheduler, one pod
	// after the other.
	Binder scheduler.Backend
}

// Backend speaks Kueue's dialect.
type Backend struct{ binder scheduler.Backend }

var (
	_ scheduler.StatusSyncer = Backend{}
	_ scheduler.ClusterAware = Backend{}
)

// New backend.
func New(o Options) Backend { return Backend{binder: o.Binder} }

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

var (
	workloadKind              = kueuev1beta2.SchemeGroupVersion.WithKind("Workload")
	resourceFlavorKind        = kueuev1beta2.SchemeGroupVersion.WithKind("ResourceFlavor")
	workloadPriorityClassKind = kueuev1beta2.SchemeGroupVersion.WithKind("WorkloadPriorityClass")
	priorityClassKind         = schedulingv1.SchemeGroupVersion.WithKind("PriorityClass")
)

// Kinds implements scheduler.Backend: Kueue's and the binder's.
func (b Backend) Kinds() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{workloadKind}
	if b.binder != nil {
		kinds = append(kinds, b.binder.Kinds()...)
	}
	return kinds
}

// ClusterKinds implements scheduler.Consulting: the flavours say on what nodes an admitted gang runs, the classes what number
// its priority is, which whoever makes a Workload must resolve.
func (Backend) ClusterKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{resourceFlavorKind, workloadPriorityClassKind, priorityClassKind}
}

// AddToScheme makes the dialect's kinds known to a client.
func AddToScheme(s *runtime.Scheme) error {
	if err := schedulingv1.AddToScheme(s); err != nil {
		return err
	}
	return kueuev1beta2.AddToScheme(s)
}

// Objects implements scheduler.Backend: the Workload, then what the binder wants. An error where a priority class that the
// job names does not exist: Kueue refuses a class without its number, and without both the gang would queue at another
// priority than the user asked for.
func (b Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	wl, err := workload(g)
	if err != nil {
		return nil, err
	}
	objs := []client.Object{wl}
	if b.binder != nil {
		bound, err := b.binder.Objects(forBinder(g))
		if err != nil {
			return nil, err
		}
		objs = append(objs, bound...)
	}
	return objs, nil
}

// Join implements scheduler.Backend. By the label and the annotation Kueue finds the pods of an admitted Workload, among
// others to lift their topology gates (pkg/controller/tas/topology_ungater.go).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, v scheduler.Verdict) {
	if b.binder != nil {
		b.binder.Join(pod, forBinder(g), v)
	} else {
		if pod.Spec.SchedulerName == "" {
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		}
		g.JoinPriority(pod)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueuev1beta2.WorkloadAnnotation, WorkloadName(g))
	if role, ok := g.RoleOf(pod); ok {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, podSetLabel, string(podSetName(role)))
		v.Placement[role.Name].ApplyTo(pod)
	}
}

// forBinder is the gang without what Kueue alone answers for: binders know no queue.
func forBinder(g scheduler.Gang) scheduler.Gang {
	g.Queue, g.ClusterObjects = "", nil
	g.JobLabels = withoutKey(g.JobLabels, QueueLabel)
	return g
}

// find the Workload of this spec; those of former ones say nothing of it.
func find(g scheduler.Gang, objs []client.Object) *kueuev1beta2.Workload {
	name := WorkloadName(g)
	i := slices.IndexFunc(objs, func(o client.Object) bool {
		wl, ok := o.(*kueuev1beta2.Workload)
		return ok && wl != nil && wl.Name == name
	})
	if i < 0 {
		return nil
	}
	return objs[i].(*kueuev1beta2.Workload)
}
