package v1alpha1

// Condition types of a TrainingJob; each is written by the operator alone.
const (
	// ConditionAdmitted: True while minAvailable ranks of the current attempt are placed.
	ConditionAdmitted = "Admitted"
	// ConditionRunning: True while at least minAvailable ranks run.
	ConditionRunning = "Running"
	// ConditionRestarting: True from the end of an attempt until the next one is queued.
	ConditionRestarting = "Restarting"
	// ConditionPreempted: True from a disruption until the gang runs again.
	ConditionPreempted = "Preempted"
	// ConditionSuspended: True while suspended.
	ConditionSuspended = "Suspended"
	// ConditionCheckpointUnknown: True where the last attempt left no checkpoint that is known to be its newest: training starts anew, or
	// from the last one that was reported.
	ConditionCheckpointUnknown = "CheckpointUnknown"
	// ConditionResumeIgnored: True while the trainer of the current attempt trains steps again that its resume point covers.
	ConditionResumeIgnored = "ResumeIgnored"
	// ConditionSucceeded and ConditionFailed: True for ever once so.
	ConditionSucceeded = "Succeeded"
	ConditionFailed    = "Failed"
)

// Reasons of transitions, conditions, events and blockers.
const (
	ReasonQueued           = "Queued"
	ReasonPlaced           = "Placed"
	ReasonGangRunning      = "GangRunning"
	ReasonCompleted        = "Completed"
	ReasonInvalidSpec      = "InvalidSpec"
	ReasonBackoffLimit     = "BackoffLimitExceeded"
	ReasonDeadlineExceeded = "DeadlineExceeded"
	ReasonRankFailed       = "RankFailed"
	ReasonPermanentFailure = "PermanentFailure"
	ReasonPreempted        = "Preempted"
	ReasonEvicted          = "Evicted"
	ReasonNodeLost         = "NodeLost"
	ReasonPodDeleted       = "PodDeleted"
	ReasonPodVanished      = "PodVanished"
	ReasonScheduleTimeout  = "ScheduleTimeout"
	ReasonSpecChanged      = "SpecChanged"
	ReasonRestartRequested = "RestartRequested"
	ReasonSuspended        = "Suspended"
	ReasonResumed          = "Resumed"
	ReasonBackoffOver      = "BackoffOver"
	ReasonDrained          = "Drained"
	ReasonRankReplaced     = "RankReplaced"
	ReasonTerminating      = "Terminating"
	ReasonSchedulerMissing = "SchedulerNotInstalled"
	ReasonNameTaken        = "NameTaken"
	ReasonPodRejected      = "PodRejected"
	ReasonGroupRejected    = "GroupRejected"
	ReasonNotJudged        = "NotJudged"
	ReasonUnschedulable    = "Unschedulable"
	ReasonWaitingInQueue   = "WaitingInQueue"

	// ReasonAgentNotConfigured: a job with checkpoints needs the agent's image, and the operator's configuration names none.
	ReasonAgentNotConfigured = "AgentNotConfigured"
	// ReasonResolving: the volume is searched for the latest complete checkpoint.
	ReasonResolving = "Resolving"
)

// Reasons of the conditions CheckpointUnknown and ResumeIgnored.
const (
	// ReasonCheckpointKnown: the newest complete checkpoint is known.
	ReasonCheckpointKnown = "CheckpointKnown"
	// ReasonNoCheckpoint: the attempt ran and left no complete checkpoint.
	ReasonNoCheckpoint = "NoCheckpoint"
	// ReasonUnresolved: rank 0's last word was not heard and the volume could not be searched: something newer may be there.
	ReasonUnresolved = "Unresolved"
	// ReasonCheckpointLost: the checkpoint that the last attempt resumed from is gone or torn.
	ReasonCheckpointLost = "CheckpointLost"
	// ReasonPlaceChanged: spec.checkpoint names another place than the one where the job's checkpoints lie.
	ReasonPlaceChanged = "PlaceChanged"
	// ReasonStepsRepeated and ReasonStepsContinued of ResumeIgnored.
	ReasonStepsRepeated  = "StepsRepeated"
	ReasonStepsContinued = "StepsContinued"
)

// Reasons why a job waits, beside NameTaken, PodRejected, GroupRejected, SchedulerNotInstalled, NodeLost, Terminating,
// NotJudged, WaitingInQueue, Unschedulable and whatever word a scheduler has of its own.
const (
	// ReasonQueueNotFound: no queue of that name exists; ReasonQueueClosed: it takes no jobs.
	ReasonQueueNotFound = "QueueNotFound"
	ReasonQueueClosed   = "QueueClosed"
	// ReasonQuotaExceeded: what is left of a queue's or namespace's quota is too little; ReasonExceedsQuota: so is the whole.
	ReasonQuotaExceeded = "QuotaExceeded"
	ReasonExceedsQuota  = "ExceedsQuota"
	// ReasonAdmissionCheckPending: quota is reserved, and something else has yet to agree.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonPriorityClassNotFound: no priority class of that name exists.
	ReasonPriorityClassNotFound = "PriorityClassNotFound"
	// ReasonNoNodeMatches: a node selector, an affinity or a taint leaves no node.
	ReasonNoNodeMatches = "NoNodeMatches"
	// ReasonNoNodeLargeEnough: a rank asks for more than any node has.
	ReasonNoNodeLargeEnough = "NoNodeLargeEnough"
	// ReasonExceedsCluster: the gang asks for more than all nodes have.
	ReasonExceedsCluster = "ExceedsCluster"
	// ReasonInsufficientResources: too little is free on the nodes, in sum or in one piece.
	ReasonInsufficientResources = "InsufficientResources"
	// ReasonVolumeUnbound: a volume claim is missing or not bound.
	ReasonVolumeUnbound = "VolumeUnbound"
	// ReasonImagePullFailed: ranks hold nodes, and an image cannot be pulled there.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonWaitingBehind: there is room, and others are served first.
	ReasonWaitingBehind = "WaitingBehind"
)
