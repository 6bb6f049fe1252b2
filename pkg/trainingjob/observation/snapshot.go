package observation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Snapshot is everything that a decision may depend on. The shell gathers it; deciding changes nothing in it.
type Snapshot struct {
	Job *v1alpha1.TrainingJob
	// Pods controlled by this job by UID, of any attempt, including pods that this process created and the
	// cache does not show yet. Resolvers are not among them.
	Pods []*corev1.Pod
	// Resolvers are the pods that search the job's volume for checkpoints (see render.IsResolver).
	Resolvers []*corev1.Pod
	// Departed pods of this job, as they were before their deletion, in the order of deletion. A replaced rank
	// has several. They come from the deletion events that this process received, so they can be incomplete.
	Departed []*corev1.Pod
	// NamedAttempt is the attempt to whose ranks the host names resolve now; 0: there are no names. If they
	// resolve to several attempts, it is not the current one.
	NamedAttempt int32
	// Report is the latest accepted report of the job's rank 0; nil when there is none.
	Report *Reported
	// Beats are the last ones of the job's ranks since this process leads, of any attempt, by the UID of the
	// pod.
	Beats map[types.UID]ReceivedBeat
	// BeatInterval that the report server asks for; 0: there is no report server.
	BeatInterval time.Duration
	// LeadsSince is when this process became the leader.
	LeadsSince time.Time
	// Hangs counts the hangs of all jobs; nil if unknown. It is expensive, so it is called at most once, and
	// only while the gang hangs. It is pure.
	Hangs func() Hangs
	// Agent from the operator's configuration.
	Agent render.Agent
	// GPUs configures which resources count as GPUs.
	GPUs framework.GPUs
	// Devices that the ranks request by device classes.
	Devices render.Devices
	// GPUTolerations of ranks that request GPUs, from the operator's configuration.
	GPUTolerations []corev1.Toleration
	// MLflowTrackingURI of the ranks, from the operator's configuration; empty: none.
	MLflowTrackingURI string
	// Lifecycle from the operator's configuration.
	Lifecycle Lifecycle
	// Nodes by name, for those that Pods name. A node that is absent here does not exist.
	Nodes map[string]NodeState
	// Backend chosen for the job; nil if there is none for the reason SchedulerProblem.
	Backend          scheduler.Backend
	SchedulerProblem *v1alpha1.Blocker
	// Gang as Backend renders it (see DescribeGang), and its scheduler's verdict.
	Gang    Gang
	Verdict scheduler.Verdict
	// Why explains from the state of the cluster why the gang waits; false if unknown. It is expensive, so it
	// is called at most once, and only while the job waits. It is pure, and can be nil.
	Why func() (scheduler.Explanation, bool)
	// ClusterUnknown: this process started recently and has not observed the whole cluster, so Why can be
	// less complete than in the former process.
	ClusterUnknown bool
	// OtherReason is from the Plan of the last decision.
	OtherReason *OtherReason
	// Waiting is the number of queued jobs. It sets how often each refreshes its reason.
	Waiting int
	// RunningJobs is the number of running jobs. It sets how often each writes its progress.
	RunningJobs int
	// Woken is how often and when the scheduler was woken for this gang.
	Woken Woken
	// Unplaceable explains that the gang cannot start, so that its pods would only hold quota: no node can ever
	// take a rank, and no autoscaler adds nodes (see scheduler.Unplaceable), or its queue cannot take it (see
	// scheduler.NotAdmissible). It returns false if that is unknown. It is called at most once, and only while
	// the job is queued. It is pure, and can be nil.
	Unplaceable func() (scheduler.Explanation, bool)
	// Preemption is the planner's result for the gang, without ObservedTime; nil if the gang does not lack
	// capacity or planning is off. Read-only.
	Preemption *v1alpha1.PreemptionStatus
	// Forecasts: the operator estimates starts and ends. Forecast is the last estimate for the job, without
	// ObservedTimes; nil: there is none yet. Read-only.
	Forecasts bool
	Forecast  *Forecast
	// Plans: the preemption planner is on and needs to know what another start costs.
	Plans bool
	// Brokers: the operator preempts for gangs whose class has a waiting class.
	Brokers bool
	// WaitingClass is the priority class under which the ranks of a new attempt wait; empty: none. If the
	// job's class names an unusable one, WaitingClassProblem is the reason.
	WaitingClass        string
	WaitingClassProblem string
	// GiveWay is set if the gang must yield to another one now.
	GiveWay *GiveWay
	// SaveAhead is set if the gang should save and train on.
	SaveAhead *SaveAhead
	// Spare reports whether the scheduler should preempt other gangs of the same priority first; nil if not
	// known yet.
	Spare *bool
	// RoomReserved: the gang must not start, since the capacity is reserved for one of higher priority.
	RoomReserved bool
	// Backfill is what the reservations of other gangs mean for a queued gang, and its own; nil: it is not known
	// yet, and what is written stays.
	Backfill *Backfill
	// CreateBackoff is set while the API server's last response to a create was a rejection.
	CreateBackoff *CreateBackoff
	Now           time.Time
}

// ManagedElsewhere reports whether another controller runs the job and writes its status.
func (s Snapshot) ManagedElsewhere() bool { return spec.ManagedElsewhere(s.Job) }

// ReceivedBeat is a beat and when the operator received it, by the operator's clock.
type ReceivedBeat struct {
	checkpoint.Beat
	Received time.Time
}

// Hangs counts the hangs of all jobs that the operator runs, this one included.
type Hangs = liveness.Hangs

// OtherReason is a newer reason for a gang's wait than the reported one, and since when it holds.
type OtherReason struct {
	Reason string
	Since  time.Time
}

// GiveWay orders a gang to yield to another one of higher priority.
type GiveWay struct {
	// Name and UID of the preemptor's job; empty if it is in another namespace.
	Name string
	UID  types.UID
	// Mode in which the operator stops the gang, at the Deadline at the latest.
	Mode     v1alpha1.PreemptionMode
	Deadline time.Time
	// LossGPUSeconds is the expected loss.
	LossGPUSeconds int64
	// Recalls: the gang leaves lent capacity.
	Recalls bool
}

// SaveAhead requests a checkpoint from a gang that may have to yield soon.
type SaveAhead struct {
	// Name of the preemptor's job; empty if it is in another namespace.
	Name string
}

// NodeState is the state of a node.
type NodeState struct {
	Ready bool
	// Domain is the value of the label of a job that must lie within one domain; empty: the node lacks it.
	Domain string
}

// CreateBackoff records that the API server rejected a create for a reason that the operator cannot remove: a
// name in use, a spent quota, an invalid pod. pkg/controller keeps it in memory; after a restart of the
// operator the API server rejects the create again.
type CreateBackoff struct {
	Blocker v1alpha1.Blocker
	// GiveBack: the attempt's pods are deleted, since an incomplete gang must hold no resources.
	GiveBack bool
	// RetryTime is the time before which nothing is created.
	RetryTime time.Time
}

// Reported is the latest accepted report of a job's rank 0.
type Reported struct {
	checkpoint.Report
	// Received is when the operator received it, by the operator's clock.
	Received time.Time
	// FormerStep is the last step that an earlier start of the attempt reported; 0: there was none.
	FormerStep int64
}
