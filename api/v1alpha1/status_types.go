package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase in the gang's life cycle.
// +kubebuilder:validation:Enum=Pending;Queued;Starting;Running;Draining;Restarting;Suspended;Succeeded;Failed
type Phase string

const (
	// PhasePending means that the gang is not submitted, because its scheduler or the agent image is missing.
	PhasePending Phase = "Pending"
	// PhaseQueued means that the gang is submitted, and the scheduler has not placed minAvailable ranks.
	PhaseQueued Phase = "Queued"
	// PhaseStarting means that at least minAvailable ranks are bound to nodes, and fewer run. After the
	// operator's lifecycle.startTimeoutSeconds, the gang releases its nodes.
	PhaseStarting Phase = "Starting"
	// PhaseRunning means that at least minAvailable ranks run.
	PhaseRunning Phase = "Running"
	// PhaseDraining means that the attempt is over and the operator stops its ranks.
	PhaseDraining Phase = "Draining"
	// PhaseRestarting means that no rank is left, and the next attempt is queued after the backoff.
	PhaseRestarting Phase = "Restarting"
	// PhaseSuspended means that no rank is left and runPolicy.suspend is true.
	PhaseSuspended Phase = "Suspended"
	// PhaseSucceeded means that the ranks of the success policy exited 0 before the operator stopped them, or
	// rank 0 reported the end of training. Final.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed means that the job failed; the condition Failed has the reason. Final.
	PhaseFailed Phase = "Failed"
)

// Finished reports whether p is final.
func (p Phase) Finished() bool { return p == PhaseSucceeded || p == PhaseFailed }

// TrainingJobStatus is the state that the operator last observed. Its messages contain no clock times or
// ages.
type TrainingJobStatus struct {
	// Phase in the gang's life cycle.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// Message describes what the job is doing.
	// +optional
	Message string `json:"message,omitempty"`
	// Attempt is the number of the current attempt, from 1. A restart of the gang increases it.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Restarts is the number of failures counted against backoffLimit.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// RankRestarts is the part of restarts by containers of the current attempt, with restartScope Rank.
	// +optional
	RankRestarts int32 `json:"rankRestarts,omitempty"`
	// Preemptions is the number of attempts that a preemption, an eviction, a drain or a lost node ended, or
	// a pod that its node rejected or another client deleted.
	// +optional
	Preemptions int32 `json:"preemptions,omitempty"`
	// Disruptions without progress, and the nodes excluded because of them.
	// +optional
	Disruptions *DisruptionStatus `json:"disruptions,omitempty"`
	// Replicas is the number of ranks of the current attempt.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// MinAvailable is how many ranks of the current attempt must start together.
	// +optional
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// ReadyReplicas is the number of ranks with ready pods.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Selector of the job's pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Gang is the number of ranks that run or have succeeded, of all: "4/4".
	// +optional
	Gang string `json:"gang,omitempty"`
	// GPUs that the gang requests: the resources in the operator's setting gpus, and the devices that
	// resourceClaims request of the classes in gpuDeviceClasses. A claim that ranks share counts once. Absent if
	// the gang has none or gpusUnknown is set.
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// GPUsUnknown is why the number of GPUs is not known, such as a missing ResourceClaimTemplate. Sums,
	// GPU-seconds and accounting then leave the job's GPUs out.
	// +optional
	GPUsUnknown string `json:"gpusUnknown,omitempty"`
	// ReplicaStatuses counts the ranks of each role.
	// +optional
	ReplicaStatuses map[Role]ReplicaStatus `json:"replicaStatuses,omitempty"`
	// Workers lists at most 100 ranks, unhealthy ones first.
	// +optional
	// +listType=atomic
	Workers []WorkerStatus `json:"workers,omitempty"`
	// AllocatedNodes are the nodes of bound ranks, sorted, at most 100.
	// +optional
	// +listType=atomic
	AllocatedNodes []string `json:"allocatedNodes,omitempty"`
	// Scheduling is the gang's queue and what blocks it.
	// +optional
	Scheduling *SchedulingStatus `json:"scheduling,omitempty"`
	// Progress that rank 0 reported. The operator updates it at most every 20 seconds, with more than 1,000
	// running jobs less often, up to 5 minutes; with a new complete checkpoint or phase immediately.
	// +optional
	Progress *ProgressStatus `json:"progress,omitempty"`
	// Liveness is what the operator knows about hangs. Absent with runPolicy.liveness.mode Off. The operator
	// writes it with another write, or when the state, the suspects or the counters change, at most once a
	// minute.
	// +optional
	Liveness *LivenessStatus `json:"liveness,omitempty"`
	// Rehearsal has the checks of a job with spec.rehearsal.
	// +optional
	Rehearsal *RehearsalStatus `json:"rehearsal,omitempty"`
	// Checkpoint describes the latest complete checkpoint and the resume point.
	// +optional
	Checkpoint *CheckpointStatus `json:"checkpoint,omitempty"`
	// MLflow configuration of the current attempt. Absent without the operator's mlflow.trackingURI.
	// +optional
	MLflow *MLflowStatus `json:"mlflow,omitempty"`
	// Work sums the time that the job was queued, ran and lost, over all attempts.
	// +optional
	Work *WorkStatus `json:"work,omitempty"`
	// MPI is the SSH configuration of framework mpi.
	// +optional
	MPI *MPIStatus `json:"mpi,omitempty"`
	// Drain is why the current attempt is ending. Present in phase Draining.
	// +optional
	Drain *DrainStatus `json:"drain,omitempty"`
	// NextAttemptTime is the end of the backoff. Present in phase Restarting.
	// +optional
	NextAttemptTime *metav1.Time `json:"nextAttemptTime,omitempty"`
	// LastFailure of a rank.
	// +optional
	LastFailure *FailureStatus `json:"lastFailure,omitempty"`
	// Transitions are the last 20 changes of phase, oldest first, always with the last run, its end and the
	// last suspension.
	// +optional
	// +listType=atomic
	Transitions []Transition `json:"transitions,omitempty"`
	// Conditions by type: Created, Admitted, Ready, Running, Restarting, Preempted, MakingRoom, Suspended,
	// InvalidSpec, CheckpointUnknown, ResumeIgnored, ResumeNeedsReports, TopologyKept, Stalled, Succeeded,
	// Failed. All but Admitted are absent until they are first True.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// StartTime is when the job first ran.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is when the job succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// ObservedGeneration is the metadata.generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is a hash of the current attempt's spec. A different revision starts a new attempt.
	// +optional
	Revision string `json:"revision,omitempty"`
	// RestartRequest is the last processed value of the annotation mlplatform.example.com/restart.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
}

// ReplicaStatus counts the ranks of one role in the current attempt.
type ReplicaStatus struct {
	// Replicas is the number of ranks in the attempt. A scheduler can admit fewer.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Pending ranks have no running pod.
	// +optional
	Pending int32 `json:"pending,omitempty"`
	// Active ranks have a pod that has not ended.
	Active int32 `json:"active"`
	// Ready ranks have ready pods.
	Ready int32 `json:"ready"`
	// Succeeded ranks exited 0, with or without a pod.
	Succeeded int32 `json:"succeeded"`
	// Failed ranks have failed pods.
	Failed int32 `json:"failed"`
	// SucceededIndexes, as ranges: "0-3,7".
	// +optional
	SucceededIndexes string `json:"succeededIndexes,omitempty"`
}

// WorkerStatus describes one rank.
type WorkerStatus struct {
	// Role of the rank.
	Role Role `json:"role"`
	// Index of the rank within its role, from 0.
	Index int32 `json:"index"`
	// PodName is <job>-<role>-<index>.
	PodName string `json:"podName"`
	// Phase of the pod; Missing without one.
	Phase string `json:"phase"`
	// Node of the pod.
	// +optional
	Node string `json:"node,omitempty"`
	// StartTime is the last start of the rank's trainer, by its node's clock.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// RestartCount is how often the kubelet restarted the pod's containers.
	RestartCount int32 `json:"restartCount"`
}

// SchedulingStatus is the gang's queue and what blocks it.
type SchedulingStatus struct {
	// Scheduler of the job.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// Queue of the gang.
	// +optional
	Queue string `json:"queue,omitempty"`
	// Group is the name of the scheduler's object for the gang.
	// +optional
	Group string `json:"group,omitempty"`
	// Domain is the value of the topology's key on the ranks' nodes, with mode Within.
	// +optional
	Domain string `json:"domain,omitempty"`
	// Tolerations that the operator added to the ranks in toleratingRoles, from its gpuTolerations.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// ToleratingRoles are the roles whose ranks request GPUs. Only with tolerations.
	// +optional
	// +listType=atomic
	ToleratingRoles []Role `json:"toleratingRoles,omitempty"`
	// KeepsPlace is true in phase Restarting while the gang keeps its place in the queue and its reserved
	// capacity. Backoffs longer than the operator's lifecycle.keepPlaceSeconds, schedule timeouts and start
	// timeouts release them.
	// +optional
	KeepsPlace bool `json:"keepsPlace,omitempty"`
	// Blocker is why the job does not run. Absent if nothing blocks it.
	// +optional
	Blocker *Blocker `json:"blocker,omitempty"`
	// WaitingClass is the priority class of the current attempt's ranks, if not the job's own. It has the
	// same value but does not preempt. Only with preemption.mode Broker.
	// +optional
	WaitingClass string `json:"waitingClass,omitempty"`
	// PreemptionGate is true if the scheduler (Kueue) preempts for the current attempt only after the
	// operator permits it. Only with preemption.mode Broker.
	// +optional
	PreemptionGate bool `json:"preemptionGate,omitempty"`
	// EstimatedStart is when a queued gang probably starts, and what it waits for. Only with the operator's
	// forecast.mode On. Updated when the time moves by a fifth of the wait, at most once a minute.
	// +optional
	EstimatedStart *EstimatedStart `json:"estimatedStart,omitempty"`
	// FirstForecast is judged when the gang starts.
	// +optional
	FirstForecast *FirstForecast `json:"firstForecast,omitempty"`
	// EstimatedEnd is when a running or queued job probably ends. Written as estimatedStart.
	// +optional
	EstimatedEnd *EstimatedEnd `json:"estimatedEnd,omitempty"`
	// Preemption is the plan for a gang that lacks capacity or quota, with preemption.mode Broker, or DryRun,
	// which only reports.
	// +optional
	Preemption *PreemptionStatus `json:"preemption,omitempty"`
	// Reservation is capacity that the operator keeps for the queued gang. Only with the operator's
	// backfill.mode DryRun or Reserve, and a priority class with the annotation
	// mlplatform.example.com/reserve-after-seconds.
	// +optional
	Reservation *ReservationStatus `json:"reservation,omitempty"`
	// Backfill is how the attempt passes the reservation of another gang, or for how long one held it back.
	// Only with the operator's backfill.mode Reserve.
	// +optional
	Backfill *BackfillStatus `json:"backfill,omitempty"`
}

// MLflowStatus is the MLflow configuration of every rank in the attempt.
type MLflowStatus struct {
	// TrackingURI is MLFLOW_TRACKING_URI.
	TrackingURI string `json:"trackingURI"`
	// ExperimentName is MLFLOW_EXPERIMENT_NAME: the annotation mlplatform.example.com/mlflow-experiment, else
	// the namespace.
	ExperimentName string `json:"experimentName"`
	// RunID is MLFLOW_RUN_ID: the annotation mlplatform.example.com/mlflow-run-id, if set when the first rank
	// was created.
	// +optional
	RunID string `json:"runID,omitempty"`
}

// Blocker is why a job waits. The operator updates its numbers at most once a minute, with more than 2,000
// waiting jobs less often, up to 5 minutes with 10,000; a new reason or object immediately. It removes a
// shortage of capacity only after 5 seconds without it.
type Blocker struct {
	// Reason in CamelCase.
	Reason string `json:"reason"`
	// Object of the reason, as kubectl accepts it: queues.scheduling.volcano.sh/research.
	// +optional
	Object string `json:"object,omitempty"`
	// Message has the numbers and, if known, the users of the capacity.
	// +optional
	Message string `json:"message,omitempty"`
	// Need is how much of the short resource the gang needs, or one rank if that does not fit.
	// +optional
	Need corev1.ResourceList `json:"need,omitempty"`
	// Free is how much of it is free, within the quota or on the nodes.
	// +optional
	Free corev1.ResourceList `json:"free,omitempty"`
	// NextStep for the user or an admin.
	// +optional
	NextStep string `json:"nextStep,omitempty"`
	// ObservedTime of the message. Absent right after the gang's submission.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// DisruptionStatus limits repeated disruptions without progress.
type DisruptionStatus struct {
	// InARow is the number of consecutive disrupted attempts without progress: a new complete checkpoint, a
	// new highest step, or, without reported steps, a run of 10 minutes. From the second on, a backoff
	// follows: 10 s, doubling to 6 min. Preemptions by a scheduler do not count.
	InARow int32 `json:"inARow"`
	// Step is the highest reported step at the last of them.
	// +optional
	Step int64 `json:"step,omitempty"`
	// ExcludedNodes are the last nodes, at most 8, whose kubelets rejected a rank. The job avoids them for 10
	// minutes.
	// +optional
	// +listType=atomic
	ExcludedNodes []ExcludedNode `json:"excludedNodes,omitempty"`
}

// ExcludedNode is a node that the job's ranks avoid temporarily.
type ExcludedNode struct {
	// Name of the node.
	Name string `json:"name"`
	// Reason of the kubelet, such as OutOfcpu or UnexpectedAdmissionError; or Hung: two hangs named the node.
	Reason string `json:"reason"`
	// Until is the end of the exclusion.
	Until metav1.Time `json:"until"`
}

// DrainCause is why an attempt ends.
// +kubebuilder:validation:Enum=Failure;Disruption;Eviction;ScheduleTimeout;StartTimeout;SpecChange;RestartRequested;Suspend;Brokered;HandOver;Hang;Rehearsal
type DrainCause string

const (
	// CauseFailure means that a rank exited with a non-zero code or exceeded its local storage limit. It
	// counts against backoffLimit. The first failed rank decides.
	CauseFailure DrainCause = "Failure"
	// CauseDisruption means a preemption, a drain, a lost node, or a pod that its node rejected or another
	// client deleted. It takes precedence over Failure.
	CauseDisruption DrainCause = "Disruption"
	// CauseEviction means that the scheduler reclaims the gang's quota or nodes.
	CauseEviction DrainCause = "Eviction"
	// CauseScheduleTimeout means that the gang exceeded scheduleTimeoutSeconds.
	CauseScheduleTimeout DrainCause = "ScheduleTimeout"
	// CauseStartTimeout means that the gang exceeded the operator's lifecycle.startTimeoutSeconds.
	CauseStartTimeout DrainCause = "StartTimeout"
	// CauseSpecChange means that the spec changed.
	CauseSpecChange DrainCause = "SpecChange"
	// CauseRestartRequested means that the annotation mlplatform.example.com/restart has a new value.
	CauseRestartRequested DrainCause = "RestartRequested"
	// CauseSuspend means that the user set runPolicy.suspend.
	CauseSuspend DrainCause = "Suspend"
	// CauseBrokered means that the operator preempts the gang for one of higher priority (preemption.mode
	// Broker). It counts as a preemption.
	CauseBrokered DrainCause = "Brokered"
	// CauseHandOver means that the operator freed no capacity in time. It recreates the pending ranks under
	// the job's own priority class, so that the scheduler preempts for them. It does not count.
	CauseHandOver DrainCause = "HandOver"
	// CauseHang means that the gang hung, under runPolicy.liveness.mode Act. It counts against
	// runPolicy.liveness.maxRestarts only.
	CauseHang DrainCause = "Hang"
	// CauseRehearsal means that the rehearsal plays a way to end an attempt. It counts against nothing.
	CauseRehearsal DrainCause = "Rehearsal"
)

// DrainStatus is why an attempt ends, and the state of its last checkpoint.
type DrainStatus struct {
	// Cause that ends the attempt and decides what follows.
	Cause DrainCause `json:"cause"`
	// Reason in CamelCase, such as Preempted or NodeLost.
	Reason string `json:"reason"`
	// Message describes what happened.
	// +optional
	Message string `json:"message,omitempty"`
	// Permanent is true for a failure without a retry (restartPolicy Never, or ExitCode with a code below
	// 128).
	// +optional
	Permanent bool `json:"permanent,omitempty"`

	// CommandID of the checkpoint request. Absent: no request.
	// +optional
	CommandID string `json:"commandID,omitempty"`
	// Deadline of that checkpoint. Then the operator stops the ranks, saved or not.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Ran is true if rank 0's trainer started, so unknown checkpoints can exist.
	// +optional
	Ran bool `json:"ran,omitempty"`
	// CheckpointKnown is true if rank 0's last report arrived, with its newest checkpoint.
	// +optional
	CheckpointKnown bool `json:"checkpointKnown,omitempty"`
	// Completed is true if rank 0 reported the end of training and exited 0.
	// +optional
	Completed bool `json:"completed,omitempty"`
	// Way in which the operator ends an attempt of a rehearsal, with cause Rehearsal. Absent: the last one ends.
	// +optional
	Way RehearsalWay `json:"way,omitempty"`
	// Resolve is the search of the volume for the resume point, if rank 0's last report is missing, if the
	// last resume point is in doubt, or for spec.checkpoint.resumeFrom.
	// +optional
	Resolve *ResolveStatus `json:"resolve,omitempty"`
	// MakesRoom is the preemption that ends the gang, with cause Brokered.
	// +optional
	MakesRoom *MakesRoomStatus `json:"makesRoom,omitempty"`
}

// MakesRoomStatus describes the job that preempts a gang, and the expected loss.
type MakesRoomStatus struct {
	// Name of the job. Absent if it is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
	// UID of the job. Absent if it is in another namespace.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Mode in which the gang ends.
	Mode PreemptionMode `json:"mode"`
	// LossGPUSeconds is the expected loss in GPU-seconds.
	// +optional
	LossGPUSeconds int64 `json:"lossGPUSeconds,omitempty"`
	// Recalls is true if the gang leaves capacity that was lent to it.
	// +optional
	Recalls bool `json:"recalls,omitempty"`
}

// ResolveStatus is a search of the volume by the pod <job>-resolve.
type ResolveStatus struct {
	// Try is the number of the search, from 1.
	Try int32 `json:"try"`
	// Deadline of the search. Then the operator uses the last reported checkpoint.
	Deadline metav1.Time `json:"deadline"`
	// OlderThan is the step of a resume point on which attempts failed before their first step. The search
	// prefers an older checkpoint.
	// +optional
	OlderThan *int64 `json:"olderThan,omitempty"`
	// Only is the spec.checkpoint.resumeFrom to search for. Absent: the latest complete checkpoint.
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
	// Node of the pod.
	// +optional
	Node string `json:"node,omitempty"`
	// ExitCode of the trainer. Absent if unknown.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason for the end: OOMKilled, a signal's name, and so on.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is the end of the termination message or log, at most 2048 bytes.
	// +optional
	Message string `json:"message,omitempty"`
	// Time is when the container ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// Transition is one change of phase.
type Transition struct {
	// Time of the change.
	Time metav1.Time `json:"time"`
	// Phase that the job entered.
	Phase Phase `json:"phase"`
	// Reason in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
}
