package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Snapshot is everything that Decide may know. The shell gathers it; nothing in it is changed by Decide.
type Snapshot struct {
	Job *v1alpha1.TrainingJob
	// Pods controlled by this job by UID, of any attempt. They include pods that this process created and the cache does
	// not show yet.
	Pods []*corev1.Pod
	// Resolvers are the pods of this job that search its volume for checkpoints (see IsResolver). They are no ranks, and not
	// among Pods.
	Resolvers []*corev1.Pod
	// Report is the last one of the job's rank 0 that was let in; nil where none is known.
	Report *Reported
	// Agent as the operator is configured.
	Agent Agent
	// Departed pods of this job, as they last were before they were deleted: best effort, from the deletion events that
	// this process saw. They tell a preemption from a pod that vanished; without them it is called vanished.
	Departed []*corev1.Pod
	// Nodes by name, for those that Pods name. A node that is absent here does not exist.
	Nodes map[string]NodeState
	// Backend chosen for the job; nil where none can be: then SchedulerProblem says why.
	Backend          scheduler.Backend
	SchedulerProblem *v1alpha1.Blocker
	Verdict          scheduler.Verdict
	// ClusterObjects is what the backend must see of the cluster to say what a gang looks like (see scheduler.Consulting).
	ClusterObjects scheduler.Objects
	// Why explains from the state of the cluster why the gang waits; false where nothing is known. It costs more than all
	// the rest, so it is asked only while the job waits, at most once. Pure: it speaks of what was gathered. May be nil.
	Why func() (scheduler.Explanation, bool)
	// CreateBackoff is what the API server answered to the last attempt to create something, if that was a refusal.
	CreateBackoff *CreateBackoff
	Now           time.Time
}

// NodeState is what a drain must know of a node.
type NodeState struct {
	Ready bool
}

// CreateBackoff is a refusal by the API server that only somebody else can remove: a name that is taken, a quota that is used
// up, a pod that is invalid. It lives in the shell's memory: after a restart the same refusal is met again.
type CreateBackoff struct {
	Blocker v1alpha1.Blocker
	// GiveBack: pods of the attempt that exist must go until RetryTime, for part of a gang must hold nothing.
	GiveBack bool
	// RetryTime: nothing is created before.
	RetryTime time.Time
}

// Plan is what is to be done, in this order: the status is written first when it holds a transition (a change of phase
// or attempt) and then nothing else is done in this pass; otherwise group, deletes, creates, status.
type Plan struct {
	// Status is the whole status after this pass; the shell writes it when it differs from the job's. Changes that can wait
	// for a transition (counts, blockers) are held back by Decide itself, which asks for a wake-up instead.
	Status v1alpha1.TrainingJobStatus
	// Transition: Status changes phase, attempt or drain. It commits alone: effects follow in the next pass.
	Transition bool
	// Group says whether the gang's objects must exist.
	Group GroupAction
	// GangStatus is what a scheduler that must be told learns of the gang, once the group is as planned.
	GangStatus scheduler.GangStatus
	// Service says whether the headless Service must exist.
	Service GroupAction
	// Delete these pods, by name and UID.
	Delete []PodDeletion
	// Create these ranks of attempt Status.Attempt.
	Create []RankRef
	// Resolve: the pod that searches the volume must be created (see RenderResolver).
	Resolve bool
	// DeleteJob: the time to live is over.
	DeleteJob bool
	// Wake is when time alone changes the answer; zero: never.
	Wake time.Time
	// Events to record once Status is persisted.
	Events []Event
	// Notes say in prose why the plan is what it is; for the log and the golden stories.
	Notes []string
}

// GroupAction is what to do with objects beside the pods.
type GroupAction string

const (
	// Keep: leave them as they are.
	Keep GroupAction = "Keep"
	// Apply: they must exist as computed for the current attempt; others of ours go.
	Apply GroupAction = "Apply"
	// Remove: none may exist.
	Remove GroupAction = "Remove"
	// Finish: none may exist but what a scheduler keeps of a finished gang.
	Finish GroupAction = "Finish"
)

// RankRef names one rank.
type RankRef struct {
	Role  v1alpha1.Role
	Index int32
}

// PodDeletion names one pod to delete, by UID so that a successor of the same name is safe.
type PodDeletion struct {
	Pod *corev1.Pod
	Why string
}

// Event is one Kubernetes event on the job.
type Event struct {
	// Warning, else Normal.
	Warning bool
	Reason  string
	// Action in the sense of events.k8s.io: what the operator did.
	Action  string
	Message string
	// Once, where it is set, names what is told: it is not told again in the same attempt.
	Once string
}
