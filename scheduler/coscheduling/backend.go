package coscheduling

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "coscheduling"

// DefaultSchedulerName is the name under which scheduler-plugins installs itself as a second scheduler
// (manifests/install/charts/as-a-second-scheduler/values.yaml).
const DefaultSchedulerName = "scheduler-plugins-scheduler"

// Options of the dialect. The zero value suits scheduler-plugins as it installs itself.
type Options struct {
	// SchedulerName is the scheduler profile that runs Coscheduling; empty means DefaultSchedulerName.
	SchedulerName string
}

// Backend speaks the dialect of scheduler-plugins' Coscheduling.
type Backend struct{ options Options }

// New returns a backend with the given options.
func New(o Options) Backend {
	if o.SchedulerName == "" {
		o.SchedulerName = DefaultSchedulerName
	}
	return Backend{options: o}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// Traits implements scheduler.Backend. The scheduler judges a gang rank by rank, and so by its pods.
//
// WaitingClasses: the policy Never of a pod keeps the plugins from preempting for it
// (capacityscheduling/capacity_scheduling.go, PodEligibleToPreemptOthers; kube-scheduler's DefaultPreemption
// does the same). Gangs are ordered by their pods' priority (coscheduling/coscheduling.go, Less), and the
// waiting class has the same priority.
func (Backend) Traits() scheduler.Traits {
	return scheduler.Traits{PodsFirst: true, WaitingClasses: true}
}

var podGroupKind = schedulingv1alpha1.SchemeGroupVersion.WithKind("PodGroup")

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

// AddToScheme registers the dialect's kinds.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1alpha1.AddToScheme(s) }
