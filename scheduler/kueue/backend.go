package kueue

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "kueue"

// Options of the dialect.
type Options struct {
	// Binder places the pods of an admitted gang, all or none. Nil means the cluster's default scheduler,
	// which places pods one by one.
	Binder scheduler.Backend
	// ManageJobsWithoutQueueName holds a gang that names no queue until it does, as Kueue's setting of the same
	// name does with its own jobs. Otherwise such a gang is refused.
	ManageJobsWithoutQueueName bool
}

// Backend speaks Kueue's dialect.
type Backend struct {
	binder    scheduler.Backend
	manageAll bool
}

var _ scheduler.QuotaSystem = Backend{}

// New returns a backend with the given options.
func New(o Options) Backend {
	return Backend{binder: o.Binder, manageAll: o.ManageJobsWithoutQueueName}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

var (
	workloadKind              = kueuev1beta2.SchemeGroupVersion.WithKind("Workload")
	resourceFlavorKind        = kueuev1beta2.SchemeGroupVersion.WithKind("ResourceFlavor")
	workloadPriorityClassKind = kueuev1beta2.SchemeGroupVersion.WithKind("WorkloadPriorityClass")
	priorityClassKind         = schedulingv1.SchemeGroupVersion.WithKind("PriorityClass")
)

// Kinds implements scheduler.Backend: Kueue's kind and those of the binder.
func (b Backend) Kinds() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{workloadKind}
	if b.binder != nil {
		kinds = append(kinds, b.binder.Kinds()...)
	}
	return kinds
}

// clusterKinds: the flavors determine the nodes of an admitted gang, and the classes its numeric priority,
// which the creator of a Workload must resolve.
var clusterKinds = []schema.GroupVersionKind{resourceFlavorKind, workloadPriorityClassKind, priorityClassKind}

// Traits implements scheduler.Backend. MultiKueue finds a Workload's job by its controller reference, and the
// job must carry the value of ManagedBy (pkg/controller/admissionchecks/multikueue/externalframeworks,
// IsJobManagedByKueue). Kueue itself deletes no pod; its binder may preempt.
func (b Backend) Traits() scheduler.Traits {
	return scheduler.Traits{
		ClusterKinds: clusterKinds, ManagedBy: kueuev1beta2.MultiKueueControllerName,
		PreemptsGangs: scheduler.Of(b.binder).PreemptsGangs, AdmissionGates: true,
		PlacedAcross: "labels of nodes have changed",
	}
}

// AddToScheme registers the dialect's kinds; those of the binder are registered by its own package.
func AddToScheme(s *runtime.Scheme) error {
	if err := schedulingv1.AddToScheme(s); err != nil {
		return err
	}
	return kueuev1beta2.AddToScheme(s)
}
