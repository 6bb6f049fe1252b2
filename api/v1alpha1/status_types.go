package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is where the gang is in its life. pkg/trainingjob's documentation has the table of transitions.
// +kubebuilder:validation:Enum=Pending;Queued;Starting;Running;Draining;Restarting;Suspended;Succeeded;Failed
type Phase string

const (
	// PhasePending: not handed to a scheduler yet, because the cluster does not serve what its scheduler needs.
	PhasePending Phase = "Pending"
	// PhaseQueued: the scheduler has the gang and has not placed minAvailable ranks of it.
	PhaseQueued Phase = "Queued"
	// PhaseStarting: at least minAvailable ranks are bound to nodes, fewer run.
	PhaseStarting Phase = "Starting"
	// PhaseRunning: at least minAvailable ranks run.
	PhaseRunning Phase = "Running"
	// PhaseDraining: the attempt is over; its ranks are being ended. What ended it is settled when the last one is gone.
	PhaseDraining Phase = "Draining"
	// PhaseRestarting: no rank is left; the next attempt is queued when the backoff is over.
	PhaseRestarting Phase = "Restarting"
	// PhaseSuspended: runPolicy.suspend is true and no rank is left.
	PhaseSuspended Phase = "Suspended"
	// PhaseSucceeded and PhaseFailed are final.
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
)

// Finished says whether p is final.
func (p Phase) Finished() bool { return p == PhaseSucceeded || p == PhaseFailed }

// TrainingJobStatus is what the operator last knew. No message in it contains a clock or an age.
type TrainingJobStatus struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Message is one sentence about what the job is doing.
	// +optional
	Message string `json:"message,omitempty"`
	// Attempt numbers the gang's starts from 1; every restart raises it, whatever its cause.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Restarts counts failures spent against backoffLimit.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// RankRestarts is the part of restarts that containers of the current attempt spent under restartScope Rank.
	// +optional
	RankRestarts int32 `json:"rankRestarts,omitempty"`
	// Preemptions counts attempts ended by a preemption, a drain, a lost node or a pod deleted by others.
	// +optional
	Preemptions int32 `json:"preemptions,omitempty"`
	// Replicas is the number of ranks of the current attempt.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Selector of the job's pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Gang is how many ranks run or have succeeded, out of all: "4/4".
	// +optional
	Gang string `json:"gang,omitempty"`
	// GPUs that the whole gang asks for (extended resources whose name ends in "/gpu").
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// ReplicaStatuses counts ranks by role.
	// +optional
	ReplicaStatuses map[Role]ReplicaStatus `json:"replicaStatuses,omitempty"`
	// Workers lists at most 100 ranks, the unhealthy first.
	// +optional
	// +listType=atomic
	Workers []WorkerStatus `json:"workers,omitempty"`
	// +optional
	Scheduling *SchedulingStatus `json:"scheduling,omitempty"`
	// Progress of the training, as rank 0's trainer reports it; refreshed at most every 20 s, and at once when a checkpoint is
	// complete or the phase changes.
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`
	// Checkpoint is what is known of the job's checkpoints.
	// +optional
	Checkpoint *CheckpointStatus `json:"checkpoint,omitempty"`
	// Work sums what the job has waited, run and lost over all attempts.
	// +optional
	Work *WorkStatus `json:"work,omitempty"`
	// Drain is why the current attempt is being ended; present while phase is Draining.
	// +optional
	Drain *DrainStatus `json:"drain,omitempty"`
	// NextAttemptTime is when a restart's backoff is over; present while phase is Restarting.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
	// LastFailure outlives the pod that failed.
	// +optional
	LastFailure *FailureStatus `json:"lastFailure,omitempty"`
	// Transitions are the last 20 changes of phase, oldest first: the job's history outlives its events.
	// +optional
	// +listType=atomic
	Transitions []Transition `json:"transitions,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// StartTime is when the job first ran.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is a hash of the part of the spec that the current attempt was made from; another one means a new attempt.
	// +optional
	Revision string `json:"revision,omitempty"`
	// RestartRequest is the value of the restart annotation that was last acted upon.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
}

// ReplicaStatus counts the ranks of one role in the current attempt.
type ReplicaStatus struct {
	// Active ranks have a pod that has not ended.
	Active int32 `json:"active"`
	Ready  int32 `json:"ready"`
	// Succeeded ranks are remembered after their pods are gone.
	Succeeded int32 `json:"succeeded"`
	Failed    int32 `json:"failed"`
	// SucceededIndexes as ranges: "0-3,7".
	// +optional
	SucceededIndexes string `json:"succeededIndexes,omitempty"`
}

// WorkerStatus is one rank.
type WorkerStatus struct {
	Role    Role   `json:"role"`
	Index   int32  `json:"index"`
	PodName string `json:"podName"`
	// Phase of the pod; Missing where there is none.
	Phase string `json:"phase"`
	// +optional
	Node         string `json:"node,omitempty"`
	RestartCount int32  `json:"restartCount"`
}

// SchedulingStatus is what is known of the gang at its scheduler.
type SchedulingStatus struct {
	// Scheduler that was chosen for the job.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// +optional
	Queue string `json:"queue,omitempty"`
	// Group is the name of the scheduler's object for the gang.
	// +optional
	Group string `json:"group,omitempty"`
	// Blocker is the one reason why the job does not run; absent when nothing blocks it.
	// +optional
	Blocker *Blocker `json:"blocker,omitempty"`
}

// Blocker is the one reason why a job waits. Two are the same when reason and object are: the rest is words and numbers,
// refreshed at most once a minute.
type Blocker struct {
	// Reason in one CamelCase word.
	Reason string `json:"reason"`
	// Object that the reason is about, as kubectl takes it: queues.scheduling.volcano.sh/research.
	// +optional
	Object string `json:"object,omitempty"`
	// Message with its numbers, and who holds what is short where that is known.
	// +optional
	Message string `json:"message,omitempty"`
	// Need is how much the gang lacks of the resource that is short; free how much of it there is.
	// +optional
	Need corev1.ResourceList `json:"need,omitempty"`
	// +optional
	Free corev1.ResourceList `json:"free,omitempty"`
	// NextStep is what somebody can do about it.
	// +optional
	NextStep string `json:"nextStep,omitempty"`
	// ObservedTime is when the message was last refreshed: at once with a new reason, else at most once a minute. Absent while the
	// scheduler has only just been told of the gang.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// DrainCause is what ends an attempt.
// +kubebuilder:validation:Enum=Failure;Disruption;Eviction;ScheduleTimeout;SpecChange;RestartRequested;Suspend
type DrainCause string

const (
	// CauseFailure: a rank ended with a non-zero exit code. It spends one of backoffLimit.
	CauseFailure DrainCause = "Failure"
	// CauseDisruption: preemption, drain, node loss, a pod deleted by others. It outranks CauseFailure: when a node dies,
	// its peers exit 1 long before the node is known to be lost.
	CauseDisruption DrainCause = "Disruption"
	// CauseEviction: the scheduler asked for the gang's places back and waits until it has them all.
	CauseEviction         DrainCause = "Eviction"
	CauseScheduleTimeout  DrainCause = "ScheduleTimeout"
	CauseSpecChange       DrainCause = "SpecChange"
	CauseRestartRequested DrainCause = "RestartRequested"
	CauseSuspend          DrainCause = "Suspend"
)

// DrainStatus says why an attempt is being ended.
type DrainStatus struct {
	Cause DrainCause `json:"cause"`
	// Reason in one CamelCase word, such as Preempted or NodeLost.
	Reason string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
	// Permanent: the failure must not be retried (policy Never, or an exit code below 128 under ExitCode).
	// +optional
	Permanent bool `json:"permanent,omitempty"`

	// CommandID of the checkpoint that the trainer is asked for before the ranks are ended; absent: nobody is asked.
	// +optional
	CommandID string `json:"commandID,omitempty"`
	// Deadline of that checkpoint: the ranks are ended then, saved or not.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Ran: rank 0's trainer had started, so it may have saved more than is known.
	// +optional
	Ran bool `json:"ran,omitempty"`
	// CheckpointKnown: rank 0's last word was heard, so status.checkpoint.latest is all there is.
	// +optional
	CheckpointKnown bool `json:"checkpointKnown,omitempty"`
	// Completed: rank 0 said that every step is trained, and exited 0.
	// +optional
	Completed bool `json:"completed,omitempty"`
	// Resolve is the search of the volume for the latest complete checkpoint, where rank 0's last word was not heard.
	// +optional
	Resolve *ResolveStatus `json:"resolve,omitempty"`
}

// ResolveStatus is a search of the volume by a pod, <job>-resolve.
type ResolveStatus struct {
	// Try, from 1.
	Try int32 `json:"try"`
	// Deadline after which the last checkpoint that was reported is taken.
	Deadline metav1.Time `json:"deadline"`
}

// FailureStatus is the last failure of a rank.
type FailureStatus struct {
	Role    Role   `json:"role"`
	Index   int32  `json:"index"`
	PodName string `json:"podName"`
	Attempt int32  `json:"attempt"`
	// +optional
	Node string `json:"node,omitempty"`
	// ExitCode of the trainer's container; absent where it is unknown.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the termination message: the tail of the rank's log.
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// Transition is one change of phase.
type Transition struct {
	Time  metav1.Time `json:"time"`
	Phase Phase       `json:"phase"`
	// +optional
	Reason string `json:"reason,omitempty"`
}
