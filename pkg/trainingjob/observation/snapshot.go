package observation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
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
	// Departed pods of this job, as they were before they were deleted, in the order in which they went: a rank
	// that was replaced has several. They come from the deletion events that this process has seen, so they may
	// be incomplete; a pod that is missing here and in Pods has vanished without a trace.
	Departed []*corev1.Pod
	// NamedAttempt is the attempt to whose ranks names lead now; 0: there are no names. Where they lead to ranks
	// of more than one, it is another one than the current.
	NamedAttempt int32
	// Report is the latest accepted report of the job's rank 0; nil when there is none.
	Report *Reported
	// Agent as the operator is configured.
	Agent render.Agent
	// GPUs says what counts as GPUs; as the operator is configured.
	GPUs framework.GPUs
	// GPUTolerations of ranks that request GPUs; as the operator is configured.
	GPUTolerations []corev1.Toleration
	// MLflowTrackingURI that ranks are told; empty: none. As the operator is configured.
	MLflowTrackingURI string
	// Lifecycle as the operator is configured.
	Lifecycle Lifecycle
	// Nodes by name, for those that Pods name. A node that is absent here does not exist.
	Nodes map[string]NodeState
	// Backend chosen for the job; nil when there is none, and then SchedulerProblem says why.
	Backend          scheduler.Backend
	SchedulerProblem *v1alpha1.Blocker
	// Gang as Backend sees it (see DescribeGang), and what its scheduler says of it.
	Gang    Gang
	Verdict scheduler.Verdict
	// Why explains from the state of the cluster why the gang waits; false when nothing is known. It costs
	// more than the rest of a decision, so it is called only while the job waits, and at most once. It is
	// pure. May be nil.
	Why func() (scheduler.Explanation, bool)
	// ClusterUnknown: this process began a short while ago and does not know the state of the cluster yet, so
	// that Why may not know what the process before it knew.
	ClusterUnknown bool
	// OtherReason is the Plan's of the decision before this one.
	OtherReason *OtherReason
	// Waiting is the number of jobs that are queued, of which each asks why now and then.
	Waiting int
	// RunningJobs is the number of jobs that run, of which each tells now and then how far it is.
	RunningJobs int
	// Woken is how the scheduler was woken for this gang so far.
	Woken Woken
	// Unplaceable explains that no node can ever take a rank of the gang, so that its pods would only hold
	// quota (see scheduler.Unplaceable); false where that is in doubt, or where waiting pods may bring nodes.
	// It is called only while the job is queued, and at most once. It is pure. May be nil.
	Unplaceable func() (scheduler.Explanation, bool)
	// Preemption is whom the planner would have make room for the gang, or has, without ObservedTime. Nil where
	// it does not lack room, or nobody plans. Read-only.
	Preemption *v1alpha1.PreemptionStatus
	// Plans: somebody plans who would make room, and must know what another start costs.
	Plans bool
	// Brokers: the operator has others make room for gangs whose class asks for that.
	Brokers bool
	// WaitingClass is the one under which the ranks wait of an attempt that begins; empty: none. Where the job's
	// class names one that cannot be used, WaitingClassProblem says why.
	WaitingClass        string
	WaitingClassProblem string
	// GiveWay is set where the gang must make room for another one now.
	GiveWay *GiveWay
	// SaveAhead is set where the gang is to save and to train on.
	SaveAhead *SaveAhead
	// Spare says whether the scheduler had better end others of the same priority than this gang; nil where that
	// is not known yet.
	Spare *bool
	// RoomReserved: the gang must not begin, since others make room for one of a higher priority.
	RoomReserved bool
	// CreateBackoff is set while the API server's last answer to a create was a rejection.
	CreateBackoff *CreateBackoff
	Now           time.Time
}

// ManagedElsewhere reports whether somebody else than this operator runs the job and writes its status.
func (s Snapshot) ManagedElsewhere() bool { return spec.ManagedElsewhere(s.Job) }

// OtherReason is the reason for which a gang has seemed to wait, Since when, although another one was told.
type OtherReason struct {
	Reason string
	Since  time.Time
}

// GiveWay is the order that a gang makes room for another one of a higher priority.
type GiveWay struct {
	// Name of that one's job, and its UID; empty where it is in another namespace.
	Name string
	UID  types.UID
	// Mode in which the gang is ended, at the latest at the Deadline.
	Mode     v1alpha1.PreemptionMode
	Deadline time.Time
	// LossGPUSeconds that its end is expected to cost.
	LossGPUSeconds int64
}

// SaveAhead says that a gang may soon have to make room for another one.
type SaveAhead struct {
	// Name of that one's job; empty where it is in another namespace.
	Name string
}

// NodeState is what a drain must know of a node.
type NodeState struct {
	Ready bool
}

// CreateBackoff says that the API server rejected a create for a reason that only somebody else can remove: a
// name that is taken, a quota that is used up, an invalid pod. It lives in the shell's memory; after a
// restart of the operator the same rejection is met again.
type CreateBackoff struct {
	Blocker v1alpha1.Blocker
	// GiveBack: the attempt's pods must go until RetryTime, since part of a gang must hold nothing.
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
