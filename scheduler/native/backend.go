package native

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "native"

// Options of the dialect. The zero value suits an unchanged cluster.
type Options struct {
	// SchedulerName is the kube-scheduler profile that places gangs; empty means default-scheduler.
	SchedulerName string
}

// Backend speaks the dialect of kube-scheduler.
type Backend struct{ options Options }

// New returns a backend with the given options.
func New(o Options) Backend {
	if o.SchedulerName == "" {
		o.SchedulerName = corev1.DefaultSchedulerName
	}
	return Backend{options: o}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// Traits implements scheduler.Backend. No gang is judged before its pods exist.
//
// PreemptsGangs: the disruption mode of the groups is All. kube-scheduler assumes that no other program
// deletes the ranks (framework/preemption/executor.go, prepareCandidateAsync): it deletes its last victim by
// name, after all the others. If that rank no longer existed, kube-scheduler would delete the rank of the
// next attempt, which has the same name. The end of a victim that held a node also wakes the preemptor.
// Otherwise the scheduler would retry the preemptor only after podMaxInUnschedulablePodsDuration, five
// minutes.
//
// WaitingClasses: the policy Never of any pod keeps kube-scheduler from preempting for its gang. With the
// gate PodGroupPreemptionPolicy, the policy of the group decides (framework/preemption/types.go,
// resolvePreemptionPolicy). So the group and its pods have the waiting class, and the group has its policy
// (see preemptionPolicy).
func (Backend) Traits() scheduler.Traits {
	return scheduler.Traits{
		Installation: "turn on Kubernetes' own gang scheduling (Kubernetes 1.37 or later: " +
			"--runtime-config=scheduling.k8s.io/v1beta1=true on the API server, and the feature gate " +
			"GenericWorkload on the API server, the controller manager and the scheduler; 1.36 serves only " +
			"v1alpha2, see docs/schedulers.md)",
		PodsFirst: true, PreemptsGangs: true, WaitingClasses: true,
		PlacedAcross: "the feature gate TopologyAwareWorkloadScheduling of the scheduler is off, or labels " +
			"of nodes have changed",
	}
}

var podGroupKind = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

// AddToScheme registers the dialect's kinds.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1beta1.AddToScheme(s) }
