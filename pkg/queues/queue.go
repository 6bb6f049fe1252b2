package queues

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Objects of a cluster, of the kinds that it serves and the caller may list.
type Objects struct {
	VolcanoQueues           []volcanov1beta1.Queue
	ClusterQueues           []kueuev1beta2.ClusterQueue
	LocalQueues             []kueuev1beta2.LocalQueue
	ElasticQuotas           []pluginsv1alpha1.ElasticQuota
	ResourceQuotas          []corev1.ResourceQuota
	PriorityClasses         []schedulingv1.PriorityClass
	WorkloadPriorityClasses []kueuev1beta2.WorkloadPriorityClass
}

// List of the queues that a user may list.
type List struct {
	Items []Queue `json:"items" nullable:"false" doc:"By scheduler, kind, namespace and name. The jobs in them are those that the caller may list."`
	// Unreadable kinds; the cluster may have objects of them.
	Unreadable []Unreadable `json:"unreadable,omitempty" doc:"Kinds that could not be listed, of which there may be some all the same."`
}

// Unreadable is a kind that could not be listed.
type Unreadable struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Queue of any scheduler, or a quota that stands for one.
type Queue struct {
	// Scheduler that it belongs to; empty for a ResourceQuota, which binds the pods of all.
	Scheduler v1alpha1.SchedulerName `json:"scheduler,omitempty"`
	// Kind of the object: Queue, ClusterQueue, LocalQueue, ElasticQuota or ResourceQuota.
	Kind string `json:"kind"`
	// Namespace of the object; empty for one without.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Parent queue: Volcano's parent, the ClusterQueue of a LocalQueue, the cohort of a ClusterQueue.
	Parent string `json:"parent,omitempty"`
	// State in the scheduler's words, such as Open or Closed; empty: unknown. StateReason is why the queue
	// admits nothing.
	State       string     `json:"state,omitempty"`
	StateReason string     `json:"stateReason,omitempty"`
	Resources   []Resource `json:"resources,omitempty"`
	// Running are the jobs that hold a part of it; Waiting those that want one, the next to be served first.
	Running []Job `json:"running,omitempty"`
	Waiting []Job `json:"waiting,omitempty"`
	// RunningGPUs and WaitingGPUs are the sums over these jobs, without those whose GPUs are not known.
	RunningGPUs int64 `json:"runningGPUs"`
	WaitingGPUs int64 `json:"waitingGPUs"`
}

// Resource that a queue has, in the notation of Kubernetes' quantities.
type Resource struct {
	Name string `json:"name"`
	// Flavor of Kueue, such as a kind of node; empty elsewhere.
	Flavor string `json:"flavor,omitempty"`
	// Limit of its use; nil: unlimited if Unlimited is true, else unknown.
	Limit     *string `json:"limit,omitempty"`
	Unlimited bool    `json:"unlimited,omitempty"`
	// Guaranteed is what it can always use: Volcano's guarantee, an ElasticQuota's min, Kueue's nominal
	// quota.
	Guaranteed *string `json:"guaranteed,omitempty"`
	// Deserved is what it lends only while it does not use it: Volcano's deserved.
	Deserved *string `json:"deserved,omitempty"`
	// Used by everything that its scheduler counts, not only TrainingJobs; nil: unknown.
	Used *string `json:"used,omitempty"`
	// Borrowed is the part of Used that comes from other queues.
	Borrowed *string `json:"borrowed,omitempty"`
	// Free is Limit less Used, at least 0; nil if one of them is nil.
	Free *string `json:"free,omitempty"`
}

// Job in a queue.
type Job struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Phase     v1alpha1.Phase `json:"phase"`
	// GPUs of the job. GPUsUnknown is set if the operator cannot count them, or has not yet.
	GPUs        int64 `json:"gpus"`
	GPUsUnknown bool  `json:"gpusUnknown,omitempty"`
	// PriorityClass of the job; Priority is its value, nil if there is no such class.
	PriorityClass string    `json:"priorityClass,omitempty"`
	Priority      *int32    `json:"priority,omitempty"`
	Created       time.Time `json:"created"`
	// Reason why it waits, in one word.
	Reason string `json:"reason,omitempty"`
	// Start is when it probably starts, by the operator's last forecast, with the interval; nil without one.
	// StartUnknown is why the forecast has no time.
	Start         *time.Time            `json:"start,omitempty"`
	StartEarliest *time.Time            `json:"startEarliest,omitempty"`
	StartLatest   *time.Time            `json:"startLatest,omitempty"`
	StartUnknown  v1alpha1.StartUnknown `json:"startUnknown,omitempty"`
	// Reservation is the phase of the reservation for a waiting job. Backfill is how a job passes the
	// reservation of another one.
	Reservation v1alpha1.ReservationPhase `json:"reservation,omitempty"`
	Backfill    v1alpha1.BackfillHow      `json:"backfill,omitempty"`
}

// UnknownGPUs reports whether the GPUs of one of the jobs are not known: a sum over them is a lower bound.
func UnknownGPUs(jobs []Job) bool {
	return slices.ContainsFunc(jobs, func(j Job) bool { return j.GPUsUnknown })
}

// Of returns the queues of a cluster with the jobs in them.
func Of(objects Objects, jobs []v1alpha1.TrainingJob) []Queue {
	in := newMembers(objects, jobs)
	all := slices.Concat(
		volcanoQueues(objects, in), clusterQueues(objects, in), localQueues(objects, in),
		elasticQuotas(objects, in), resourceQuotas(objects, in),
	)
	slices.SortFunc(all, func(a, b Queue) int {
		return cmp.Or(
			strings.Compare(string(a.Scheduler), string(b.Scheduler)), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}
