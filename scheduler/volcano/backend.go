package volcano

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "volcano"

// DefaultSchedulerName is the schedulerName that Volcano serves by default.
const DefaultSchedulerName = "volcano"

// Options of the dialect. DefaultOptions suit Volcano as it installs itself; the zero value does not wait for
// Inqueue.
type Options struct {
	// WaitForInqueue delays the creation of a gang's pods until Volcano makes the group Inqueue. Without it a
	// waiting gang has pending pods, and starts one scheduling session, about a second, sooner.
	WaitForInqueue bool
	// SchedulerName is the name that Volcano serves (its flag --scheduler-name); empty means
	// DefaultSchedulerName.
	SchedulerName string
}

// DefaultOptions returns options that wait for Inqueue and name the default scheduler.
func DefaultOptions() Options {
	return Options{WaitForInqueue: true, SchedulerName: DefaultSchedulerName}
}

// Backend speaks Volcano's dialect.
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

// Traits implements scheduler.Backend. Without the action enqueue, which would prevent preemption, Volcano
// makes every group Inqueue at once and judges its pods.
//
// WaitingClasses: the policy counts by pod (actions/preempt/preempt.go, taskEligibleToPreempt;
// reclaim/reclaim.go). The order of gangs follows the class of their group (cache/cache.go, Snapshot), which
// remains the job's own. The first gang in order gets capacity before it is free: allocate counts what is
// being released (actions/allocate/allocate.go).
func (Backend) Traits() scheduler.Traits {
	return scheduler.Traits{
		PodsFirst: true, WaitingClasses: true, TopologyKinds: []schema.GroupVersionKind{hyperNodeKind},
		NoPreemptionWithin: true, // actions/preempt/preempt.go, ContainsNetworkTopology
		PlacedAcross: "Volcano's configuration lacks the plugin network-topology-aware, or its HyperNodes " +
			"do not have the nodes that have the label",
	}
}

var podGroupKind = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

// AddToScheme registers the dialect's kinds.
func AddToScheme(s *runtime.Scheme) error {
	if err := topologyv1alpha1.AddToScheme(s); err != nil {
		return err
	}
	return schedulingv1beta1.AddToScheme(s)
}
