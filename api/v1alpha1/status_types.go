package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is where the gang is in its life cycle. The documentation of pkg/trainingjob has the table of
// transitions.
// +kubebuilder:validation:Enum=Pending;Queued;Starting;Running;Draining;Restarting;Suspended;Succeeded;Failed
type Phase string

const (
	// PhasePending: the gang is not submitted yet, since something it needs is missing: what its scheduler
	// serves, or an agent image for a job with checkpoints.
	PhasePending Phase = "Pending"
	// PhaseQueued: the gang is submitted, and the scheduler has not placed minAvailable ranks of it yet.
	PhaseQueued Phase = "Queued"
	// PhaseStarting: at least minAvailable ranks are bound to nodes, and fewer run. A gang that stays in it for
	// longer than the operator's lifecycle.startTimeoutSeconds gives its nodes back.
	PhaseStarting Phase = "Starting"
	// PhaseRunning: at least minAvailable ranks run.
	PhaseRunning Phase = "Running"
	// PhaseDraining: the attempt is over and its ranks are being ended. Its cause is settled when the last
	// one is gone.
	PhaseDraining Phase = "Draining"
	// PhaseRestarting: no rank is left, and the next attempt is queued when the backoff is over.
	PhaseRestarting Phase = "Restarting"
	// PhaseSuspended: runPolicy.suspend is true, and no rank is left.
	PhaseSuspended Phase = "Suspended"
	// PhaseSucceeded is final: the leader, or else every Worker, exited 0 before anybody told it to end, or rank
	// 0 reported that every step is trained.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed is final: the condition Failed has the reason.
	PhaseFailed Phase = "Failed"
)

// Finished reports whether p is final.
func (p Phase) Finished() bool { return p == PhaseSucceeded || p == PhaseFailed }

// TrainingJobStatus is what the operator last observed. No message in it contains a clock time or an age.
type TrainingJobStatus struct {
	// Phase of the gang's life cycle.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Message is one sentence about what the job is doing.
	// +optional
	Message string `json:"message,omitempty"`
	// Attempt numbers the gang's starts from 1. Every restart raises it, whatever its cause.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Restarts counts the failures spent against backoffLimit.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// RankRestarts is the part of restarts that containers of the current attempt spent under restartScope Rank.
	// +optional
	RankRestarts int32 `json:"rankRestarts,omitempty"`
	// Preemptions counts the attempts that ended with a preemption, by the scheduler or because the operator had
	// the gang make room, an eviction, a drain, a lost node, or a pod that its node rejected or somebody else
	// deleted.
	// +optional
	Preemptions int32 `json:"preemptions,omitempty"`
	// Disruptions that ended attempts one after the other without progress, and the nodes that are excluded
	// because of them. Absent when there are none.
	// +optional
	Disruptions *DisruptionStatus `json:"disruptions,omitempty"`
	// Replicas is the number of ranks of the current attempt.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// MinAvailable is how many ranks of the current attempt start together or not at all.
	// +optional
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// ReadyReplicas is the number of ranks whose pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Selector of the job's pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Gang is how many ranks run or have succeeded, out of all: "4/4".
	// +optional
	Gang string `json:"gang,omitempty"`
	// GPUs that the whole gang requests: the extended resources that the operator's configuration names in gpus,
	// by default GPUs, their slices, and the accelerators of other vendors. Devices that are claimed
	// (resourceClaims) are not known and not among them.
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// ReplicaStatuses counts the ranks of each role.
	// +optional
	ReplicaStatuses map[Role]ReplicaStatus `json:"replicaStatuses,omitempty"`
	// Workers lists at most 100 ranks, unhealthy ones first.
	// +optional
	// +listType=atomic
	Workers []WorkerStatus `json:"workers,omitempty"`
	// AllocatedNodes are the nodes that ranks are bound to and have not left, sorted, at most 100.
	// +optional
	// +listType=atomic
	AllocatedNodes []string `json:"allocatedNodes,omitempty"`
	// Scheduling is where the gang is queued, and what blocks it.
	// +optional
	Scheduling *SchedulingStatus `json:"scheduling,omitempty"`
	// Progress that rank 0's trainer reported. It is written at most every 20 seconds, and where more than 1,000
	// jobs run the more rarely the more do, up to every 5 minutes; at once with a new complete checkpoint or a
	// change of phase.
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`
	// Checkpoint is the latest complete checkpoint, and the one that the current attempt resumed from.
	// +optional
	Checkpoint *CheckpointStatus `json:"checkpoint,omitempty"`
	// MLflow is what the ranks of the current attempt are told of MLflow. Absent where the operator's
	// configuration named no server when the attempt began (mlflow.trackingURI).
	// +optional
	MLflow *MLflowStatus `json:"mlflow,omitempty"`
	// Work sums the time that the job was queued, ran and lost, over all attempts.
	// +optional
	Work *WorkStatus `json:"work,omitempty"`
	// MPI is what the ranks of framework mpi reach each other with.
	// +optional
	MPI *MPIStatus `json:"mpi,omitempty"`
	// Drain is why the current attempt is being ended. Present while phase is Draining.
	// +optional
	Drain *DrainStatus `json:"drain,omitempty"`
	// NextAttemptTime is when the backoff is over. Present while phase is Restarting.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
	// LastFailure of a rank. It outlives the rank's pod.
	// +optional
	LastFailure *FailureStatus `json:"lastFailure,omitempty"`
	// Transitions are the last 20 changes of phase, oldest first; the last run, its end and the last suspension
	// stay among them. They outlive the job's events.
	// +optional
	// +listType=atomic
	Transitions []Transition `json:"transitions,omitempty"`
	// Conditions by type: Created, Admitted, Ready, Running, Restarting, Preempted, MakingRoom, Suspended,
	// InvalidSpec, CheckpointUnknown, ResumeIgnored, ResumeNeedsReports, Succeeded, Failed. One that has never
	// been True is absent, but for Admitted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// StartTime is when the job first ran.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is when the job finished, with success or not.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// ObservedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is a hash of the part of the spec that the current attempt was made from. A spec with another
	// one starts a new attempt.
	// +optional
	Revision string `json:"revision,omitempty"`
	// RestartRequest is the last value of the annotation mlplatform.example.com/restart that was acted upon.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
}

// ReplicaStatus counts the ranks of one role in the current attempt.
type ReplicaStatus struct {
	// Replicas is the number of ranks that the current attempt was made for; a scheduler may admit fewer.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Pending is the number of ranks that have no pod yet, or one that does not run yet.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Active is the number of ranks with a pod that has not ended.
	Active int32 `json:"active"`
	// Ready is the number of ranks whose pods run and are ready.
	Ready int32 `json:"ready"`
	// Succeeded is the number of ranks that exited 0. It stays when their pods are gone.
	Succeeded int32 `json:"succeeded"`
	// Failed is the number of ranks whose pods have failed.
	Failed int32 `json:"failed"`
	// SucceededIndexes of the ranks that exited 0, as ranges: "0-3,7".
	// +optional
	SucceededIndexes string `json:"succeededIndexes,omitempty"`
}

// WorkerStatus is one rank.
type WorkerStatus struct {
	// Role of the rank.
	Role Role `json:"role"`
	// Index of the rank within its role, from 0.
	Index int32 `json:"index"`
	// PodName is <job>-<role>-<index>, the same in every attempt.
	PodName string `json:"podName"`
	// Phase of the pod; Missing where there is none.
	Phase string `json:"phase"`
	// Node that the pod is bound to.
	// +optional
	Node string `json:"node,omitempty"`
	// StartTime is when the rank's trainer last started, by its node's clock. Absent until then.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// RestartCount is how often the kubelet has restarted the pod's containers.
	RestartCount int32 `json:"restartCount"`
}

// SchedulingStatus is where the gang is queued, and what blocks it.
type SchedulingStatus struct {
	// Scheduler that was chosen for the job.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// Queue that the gang was submitted to.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Group is the name of the scheduler's object for the gang.
	// +optional
	Group string `json:"group,omitempty"`
	// Tolerations that the operator's configuration (gpuTolerations) has added to the ranks of the current
	// attempt in ToleratingRoles.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// ToleratingRoles are the roles whose ranks request GPUs, where there are Tolerations.
	// +optional
	// +listType=atomic
	ToleratingRoles []Role `json:"toleratingRoles,omitempty"`
	// KeepsPlace is true while phase is Restarting and the group stays, with its place in the queue and what
	// the scheduler has reserved for it. A backoff longer than the operator's lifecycle.keepPlaceSeconds keeps
	// nothing, and neither does one after a schedule timeout or a start timeout. Never true where each attempt
	// has a group of its own.
	// +optional
	KeepsPlace bool `json:"keepsPlace,omitempty"`
	// Blocker is the one reason why the job does not run. Absent when nothing blocks it.
	// +optional
	Blocker *Blocker `json:"blocker,omitempty"`
	// WaitingClass is the priority class of the current attempt's ranks, where that is not the job's own: one of
	// the same value for which the scheduler preempts nobody, since the operator has others make room (see
	// docs/preemption.md). Only where the operator's configuration has preemption.mode Broker.
	// +optional
	WaitingClass string `json:"waitingClass,omitempty"`
	// PreemptionGate is true where the scheduler ends nobody for the current attempt before the operator lets it
	// (see docs/preemption.md): Kueue, with its feature gates for that. Only where the operator's configuration
	// has preemption.mode Broker.
	// +optional
	PreemptionGate bool `json:"preemptionGate,omitempty"`
	// Preemption is whom the operator has make room for the gang. Present while the gang lacks room or quota,
	// where the operator's configuration has preemption.mode DryRun, with which nothing acts on it, or Broker.
	// +optional
	Preemption *PreemptionStatus `json:"preemption,omitempty"`
}

// MLflowStatus is what every rank of an attempt is told of MLflow. It stays as it is while ranks of the
// attempt exist, so that all of them are told the same.
type MLflowStatus struct {
	// TrackingURI is the ranks' MLFLOW_TRACKING_URI.
	TrackingURI string `json:"trackingURI"`
	// ExperimentName is their MLFLOW_EXPERIMENT_NAME: the annotation mlplatform.example.com/mlflow-experiment,
	// else the namespace.
	ExperimentName string `json:"experimentName"`
	// RunID is their MLFLOW_RUN_ID: the annotation mlplatform.example.com/mlflow-run-id. Absent where no run was
	// known before the first of them existed.
	// +optional
	RunID string `json:"runID,omitempty"`
}

// Blocker is the one reason why a job waits. Blockers with the same reason and object are the same one: its
// other fields are refreshed at most once a minute, and more rarely where more than 2,000 jobs wait: with
// 10,000 every 5 minutes. That a gang no longer lacks room is told once the room has lasted for 5 seconds.
type Blocker struct {
	// Reason as one CamelCase word.
	Reason string `json:"reason"`
	// Object that the reason is about, as kubectl takes it: queues.scheduling.volcano.sh/research.
	// +optional
	Object string `json:"object,omitempty"`
	// Message explains the reason with numbers and, where it is known, who uses what the gang lacks.
	// +optional
	Message string `json:"message,omitempty"`
	// Need is how much of the short resource the gang needs, or one rank where that alone does not fit.
	// +optional
	Need corev1.ResourceList `json:"need,omitempty"`
	// Free is how much of that resource is free, within the quota or on the nodes.
	// +optional
	Free corev1.ResourceList `json:"free,omitempty"`
	// NextStep is what the user or an admin can do about it.
	// +optional
	NextStep string `json:"nextStep,omitempty"`
	// ObservedTime is when the message was last refreshed: at once with a new reason, else as rarely
	// as the blocker's other fields. Absent in the moment after the gang was submitted.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// DisruptionStatus bounds how often a gang returns to be disrupted again without getting anywhere.
type DisruptionStatus struct {
	// InARow counts the attempts that disruptions ended, from the last one that got the training further: to a
	// new complete checkpoint, or to a step that was not reported before; a job that reports no step, by a run
	// of 10 minutes. From the second one on a backoff follows, of 10 s, doubling to 6 min. Preemptions by a
	// scheduler do not count: it decides when the gang returns.
	InARow int32 `json:"inARow"`
	// Step is the highest step that was reported when the last of them was counted.
	// +optional
	Step int64 `json:"step,omitempty"`
	// ExcludedNodes are at most 8 nodes whose kubelets rejected a rank, the last ones. No rank is placed there
	// for 10 minutes.
	// +optional
	// +listType=atomic
	ExcludedNodes []ExcludedNode `json:"excludedNodes,omitempty"`
}

// ExcludedNode is a node on which the job's ranks are not placed for a while.
type ExcludedNode struct {
	// Name of the node.
	Name string `json:"name"`
	// Reason that its kubelet gave, such as OutOfcpu or UnexpectedAdmissionError.
	Reason string `json:"reason"`
	// Until is the end of the exclusion.
	Until metav1.Time `json:"until"`
}

// DrainCause is what ends an attempt.
// +kubebuilder:validation:Enum=Failure;Disruption;Eviction;ScheduleTimeout;StartTimeout;SpecChange;RestartRequested;Suspend;Brokered;HandOver
type DrainCause string

const (
	// CauseFailure: a rank exited with a non-zero code, or was evicted for its own limits of local storage. It
	// spends one of backoffLimit. Of several ranks the first decides.
	CauseFailure DrainCause = "Failure"
	// CauseDisruption: preemption, drain, node loss, a pod that its node rejected, or one that somebody else
	// deleted. A rank that exits 0 because of it is lost, too. It outranks Failure: when a node dies, the ranks
	// on other nodes exit 1 long before the node is known to be lost.
	CauseDisruption DrainCause = "Disruption"
	// CauseEviction: the scheduler demands the gang's quota or nodes back, and waits until every pod is gone.
	CauseEviction DrainCause = "Eviction"
	// CauseScheduleTimeout: the gang was queued for longer than scheduleTimeoutSeconds.
	CauseScheduleTimeout DrainCause = "ScheduleTimeout"
	// CauseStartTimeout: the gang had its nodes, and was Starting for longer than the operator's
	// lifecycle.startTimeoutSeconds.
	CauseStartTimeout DrainCause = "StartTimeout"
	// CauseSpecChange: the spec differs from the one that the attempt was made from, such as after a resize.
	CauseSpecChange DrainCause = "SpecChange"
	// CauseRestartRequested: the annotation mlplatform.example.com/restart has a new value.
	CauseRestartRequested DrainCause = "RestartRequested"
	// CauseSuspend: runPolicy.suspend became true.
	CauseSuspend DrainCause = "Suspend"
	// CauseBrokered: the gang makes room for one of a higher priority, as the operator has planned
	// (preemption.mode Broker). It counts as a preemption, and spends no restart.
	CauseBrokered DrainCause = "Brokered"
	// CauseHandOver: the gang has waited in vain for others to make room. Its ranks, which hold nothing, are
	// made again under the job's own priority class, so that the scheduler preempts for them. It counts as
	// nothing.
	CauseHandOver DrainCause = "HandOver"
)

// DrainStatus is why an attempt is being ended, and what is known of its last checkpoint.
type DrainStatus struct {
	// Cause that ends the attempt. It decides what follows, and what is counted.
	Cause DrainCause `json:"cause"`
	// Reason as one CamelCase word, such as Preempted or NodeLost.
	Reason string `json:"reason"`
	// Message is one sentence about what has happened.
	// +optional
	Message string `json:"message,omitempty"`
	// Permanent is true for a failure that is not retried: under policy Never, or an exit code below 128
	// under ExitCode.
	// +optional
	Permanent bool `json:"permanent,omitempty"`

	// CommandID of the checkpoint that the trainer is asked for before the ranks are ended. Absent: it is not
	// asked.
	// +optional
	CommandID string `json:"commandID,omitempty"`
	// Deadline of that checkpoint. The ranks are ended then, saved or not.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Ran is true once rank 0's trainer had started, so that it may have saved more than is known.
	// +optional
	Ran bool `json:"ran,omitempty"`
	// CheckpointKnown is true once rank 0's last report has arrived, so that status.checkpoint.latest is its
	// newest.
	// +optional
	CheckpointKnown bool `json:"checkpointKnown,omitempty"`
	// Completed is true once rank 0 has reported that every step is trained, and exited 0.
	// +optional
	Completed bool `json:"completed,omitempty"`
	// Resolve is the search of the volume for the next resume point: where rank 0's last report is missing,
	// where the last resume point is in doubt, and for spec.checkpoint.resumeFrom.
	// +optional
	Resolve *ResolveStatus `json:"resolve,omitempty"`
	// MakesRoom says for whom the gang makes room, where the cause is Brokered.
	// +optional
	MakesRoom *MakesRoomStatus `json:"makesRoom,omitempty"`
}

// MakesRoomStatus says for whom a gang makes room, and what that was expected to cost.
type MakesRoomStatus struct {
	// Name of the job. Absent where that is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
	// UID of the job. Absent where that is in another namespace.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Mode in which the gang is ended.
	Mode PreemptionMode `json:"mode"`
	// LossGPUSeconds is what its end was expected to cost, in GPU-seconds.
	// +optional
	LossGPUSeconds int64 `json:"lossGPUSeconds,omitempty"`
}

// ResolveStatus is a search of the volume by the pod <job>-resolve.
type ResolveStatus struct {
	// Try numbers the searches from 1.
	Try int32 `json:"try"`
	// Deadline after which the last reported checkpoint is taken instead.
	Deadline metav1.Time `json:"deadline"`
	// OlderThan is the step of a resume point on which attempts failed before their first step: an older
	// checkpoint is preferred.
	// +optional
	OlderThan *int64 `json:"olderThan,omitempty"`
	// Only is the spec.checkpoint.resumeFrom to search for. Absent: the search is for the latest complete
	// checkpoint.
	// +optional
	Only string `json:"only,omitempty"`
}

// FailureStatus is the last failure of a rank.
type FailureStatus struct {
	// Role of the rank.
	Role Role `json:"role"`
	// Index of the rank within its role, from 0.
	Index int32 `json:"index"`
	// PodName of the rank.
	PodName string `json:"podName"`
	// Attempt in which it failed.
	Attempt int32 `json:"attempt"`
	// Node that the pod ran on.
	// +optional
	Node string `json:"node,omitempty"`
	// ExitCode of the trainer's container. Absent where it is unknown.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason of the container's or the pod's end: OOMKilled, a signal's name, and so on.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the termination message, by default the tail of the rank's log; its last 2048 bytes.
	// +optional
	Message string `json:"message,omitempty"`
	// Time at which the container ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// Transition is one change of phase.
type Transition struct {
	// Time of the change, in whole seconds.
	Time metav1.Time `json:"time"`
	// Phase that the job entered.
	Phase Phase `json:"phase"`
	// Reason as one CamelCase word.
	// +optional
	Reason string `json:"reason,omitempty"`
}
