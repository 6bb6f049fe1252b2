package v1alpha1

// Condition types of a TrainingJob. Only the operator writes them. One that has never been True is absent,
// but for Admitted.
const (
	// ConditionCreated is True once the operator has accepted the job: its spec is valid.
	ConditionCreated = "Created"
	// ConditionReady is True while every rank is ready or has succeeded. Running needs minAvailable ranks alone,
	// and no readiness.
	ConditionReady = "Ready"
	// ConditionAdmitted is True while minAvailable ranks of the current attempt are placed. While it is
	// False, its reason is the blocker's.
	ConditionAdmitted = "Admitted"
	// ConditionRunning is True while at least minAvailable ranks run.
	ConditionRunning = "Running"
	// ConditionRestarting is True from the end of an attempt until the next one is queued.
	ConditionRestarting = "Restarting"
	// ConditionPreempted is True from the end of an attempt that was disrupted until the gang runs again.
	ConditionPreempted = "Preempted"
	// ConditionMakingRoom is True while others make room for the gang, by a plan of the operator's
	// (status.scheduling.preemption.phase).
	ConditionMakingRoom = "MakingRoom"
	// ConditionSuspended is True while the job is suspended.
	ConditionSuspended = "Suspended"
	// ConditionInvalidSpec is True while the spec of a job that was queued before breaks a rule, or asks for
	// what its scheduler cannot do. The current attempt goes on as it was made, and no other one is started.
	ConditionInvalidSpec = "InvalidSpec"
	// ConditionCheckpointUnknown is True where the last attempt's newest checkpoint is not known. Training
	// resumes from the last one that was reported, or starts from scratch.
	ConditionCheckpointUnknown = "CheckpointUnknown"
	// ConditionResumeIgnored is True while the trainer repeats steps from before its resume point.
	ConditionResumeIgnored = "ResumeIgnored"
	// ConditionResumeNeedsReports is True while the job saves to an object store and the operator has no report
	// server: when the node of rank 0 is lost, newer checkpoints than the last known one are not found.
	ConditionResumeNeedsReports = "ResumeNeedsReports"
	// ConditionSucceeded is True once the training is complete. It is final.
	ConditionSucceeded = "Succeeded"
	// ConditionFailed is True once the job has failed for good. It is final.
	ConditionFailed = "Failed"
)

// Reasons of transitions, and of the conditions and events that follow them.
const (
	// ReasonQueued: the gang was submitted to its scheduler.
	ReasonQueued = "Queued"
	// ReasonPlaced: at least minAvailable ranks are bound to nodes.
	ReasonPlaced = "Placed"
	// ReasonAccepted: the spec is valid. It is a reason of the condition Created alone.
	ReasonAccepted = "Accepted"
	// ReasonRanksReady: every rank is ready or has succeeded. It is a reason of the condition Ready alone, as is
	// ReasonRanksNotReady.
	ReasonRanksReady = "RanksReady"
	// ReasonRanksNotReady: a rank is neither ready nor has succeeded.
	ReasonRanksNotReady = "RanksNotReady"
	// ReasonGangRunning: at least minAvailable ranks run.
	ReasonGangRunning = "GangRunning"
	// ReasonCompleted: the leader, or else every Worker, exited 0 before anybody told it to end, or rank 0
	// reported that every step is trained.
	ReasonCompleted = "Completed"
	// ReasonInvalidSpec: the spec breaks a rule, or asks for what its scheduler cannot do. A job that was never
	// queued fails for it; any other waits, with this as its blocker.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonSpecValid: the spec, which was invalid, has been corrected.
	ReasonSpecValid = "SpecValid"
	// ReasonBackoffLimit: one more failure than backoffLimit allows.
	ReasonBackoffLimit = "BackoffLimitExceeded"
	// ReasonDeadlineExceeded: the gang has run for activeDeadlineSeconds, over all attempts.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonRankFailed: a rank failed, and its policy allows a retry.
	ReasonRankFailed = "RankFailed"
	// ReasonPermanentFailure: a rank failed, and its policy or its exit code rules out a retry.
	ReasonPermanentFailure = "PermanentFailure"
	// ReasonPreempted: the scheduler preempted a rank.
	ReasonPreempted = "Preempted"
	// ReasonEvicted: a rank was evicted, by a drain or by its kubelet, or rejected by its kubelet, or the
	// scheduler demands the gang's quota back.
	ReasonEvicted = "Evicted"
	// ReasonNodeLost: the node of a rank is gone or does not answer. Also the reason of a blocker, while a pod's
	// deletion hangs on such a node.
	ReasonNodeLost = "NodeLost"
	// ReasonPodDeleted: somebody else deleted the pod of a rank.
	ReasonPodDeleted = "PodDeleted"
	// ReasonPodVanished: the pod of a rank is gone, and nothing says why.
	ReasonPodVanished = "PodVanished"
	// ReasonScheduleTimeout: the gang was queued for longer than scheduleTimeoutSeconds.
	ReasonScheduleTimeout = "ScheduleTimeout"
	// ReasonStartTimeout: the gang had its nodes, and did not run within the operator's start timeout.
	ReasonStartTimeout = "StartTimeout"
	// ReasonSpecChanged: the spec differs from the one that the attempt was made from.
	ReasonSpecChanged = "SpecChanged"
	// ReasonRestartRequested: the annotation mlplatform.example.com/restart has a new value.
	ReasonRestartRequested = "RestartRequested"
	// ReasonMakesRoom: the gang makes room for one of a higher priority, as the operator has planned.
	ReasonMakesRoom = "MakesRoom"
	// ReasonHandedOver: nobody could make room for the gang in time, and the scheduler preempts for it now.
	ReasonHandedOver = "HandedOver"
	// ReasonSuspended: runPolicy.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonResumed: runPolicy.suspend is no longer true, and the gang was submitted again.
	ReasonResumed = "Resumed"
	// ReasonBackoffOver: the backoff after a restart is over, and the gang was submitted again.
	ReasonBackoffOver = "BackoffOver"
	// ReasonDrained: the attempt has ended, and nothing recorded why.
	ReasonDrained = "Drained"
	// ReasonRankReplaced: under restartScope Rank, the pod of a lost rank is deleted to make way for its
	// replacement.
	ReasonRankReplaced = "RankReplaced"
	// ReasonResolving: the volume is being searched for the checkpoint to resume from.
	ReasonResolving = "Resolving"
)

// Reasons of blockers: why a job waits. A scheduler may add its own; NodeLost is above.
const (
	// ReasonSchedulerMissing: the cluster does not serve what the job's scheduler needs.
	ReasonSchedulerMissing = "SchedulerNotInstalled"
	// ReasonSchedulerNotAllowed: the operator's configuration does not allow the job's scheduler.
	ReasonSchedulerNotAllowed = "SchedulerNotAllowed"
	// ReasonAgentNotConfigured: a job with checkpoints needs the agent's image, and the operator's
	// configuration names none.
	ReasonAgentNotConfigured = "AgentNotConfigured"
	// ReasonNameTaken: an object of somebody else has the name that a pod, Service or group of the job must
	// have.
	ReasonNameTaken = "NameTaken"
	// ReasonPodRejected: the API server rejects a rank's pod.
	ReasonPodRejected = "PodRejected"
	// ReasonGroupRejected: the API server rejects the gang's group or Service, or its scheduler cannot
	// express the gang.
	ReasonGroupRejected = "GroupRejected"
	// ReasonTerminating: pods of the previous attempt still exist.
	ReasonTerminating = "Terminating"
	// ReasonNotJudged: the scheduler has not said anything about the gang yet.
	ReasonNotJudged = "NotJudged"
	// ReasonWaitingInQueue: the scheduler has seen the gang and not placed it, without a reason that is known.
	ReasonWaitingInQueue = "WaitingInQueue"
	// ReasonWaitingBehind: the gang would fit, and others are served first.
	ReasonWaitingBehind = "WaitingBehind"
	// ReasonSchedulerRests: the nodes have room for the gang, and its scheduler, which has rejected it, does
	// not look; the operator wakes it.
	ReasonSchedulerRests = "SchedulerRests"
	// ReasonRoomReserved: others make room for a gang of a higher priority, and this one would take it.
	ReasonRoomReserved = "RoomReserved"
	// ReasonWaitingClassUnusable: the gang's priority class names a waiting class that cannot be one, so nobody
	// is asked to make room.
	ReasonWaitingClassUnusable = "WaitingClassUnusable"
	// ReasonUnschedulable: the scheduler could not place a rank; the message is the scheduler's.
	ReasonUnschedulable = "Unschedulable"
	// ReasonQueueNotFound: no queue of that name exists.
	ReasonQueueNotFound = "QueueNotFound"
	// ReasonQueueClosed: the queue takes no jobs.
	ReasonQueueClosed = "QueueClosed"
	// ReasonQuotaExceeded: too little is left of a queue's or namespace's quota.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonExceedsQuota: the gang is larger than the whole quota, and can never start.
	ReasonExceedsQuota = "ExceedsQuota"
	// ReasonAdmissionCheckPending: quota is reserved, and an admission check has not agreed yet.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonPriorityClassNotFound: no priority class of that name exists.
	ReasonPriorityClassNotFound = "PriorityClassNotFound"
	// ReasonSchedulingGated: a rank's pod has a scheduling gate that its scheduler did not ask for.
	ReasonSchedulingGated = "SchedulingGated"
	// ReasonNoNodeMatches: node selectors, affinity and taints leave no node.
	ReasonNoNodeMatches = "NoNodeMatches"
	// ReasonNoNodeLargeEnough: a rank requests more than any node has.
	ReasonNoNodeLargeEnough = "NoNodeLargeEnough"
	// ReasonExceedsCluster: the gang requests more than all nodes have together.
	ReasonExceedsCluster = "ExceedsCluster"
	// ReasonInsufficientResources: too little is free on the nodes, in total or on any single one.
	ReasonInsufficientResources = "InsufficientResources"
	// ReasonVolumeUnbound: a volume claim is missing or not bound.
	ReasonVolumeUnbound = "VolumeUnbound"
	// ReasonImagePullFailed: ranks hold nodes, and an image cannot be pulled there.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerNotStarted: ranks hold nodes, and a container of theirs does not start, such as one that
	// refers to a Secret which is missing.
	ReasonContainerNotStarted = "ContainerNotStarted"
	// ReasonContainerCreating: ranks hold nodes that have been preparing their volumes, networks and images for
	// half a minute, and name no error.
	ReasonContainerCreating = "ContainerCreating"
)

// Reasons of the conditions CheckpointUnknown, ResumeIgnored and ResumeNeedsReports.
const (
	// ReasonCheckpointKnown: the newest complete checkpoint is known.
	ReasonCheckpointKnown = "CheckpointKnown"
	// ReasonNoCheckpoint: the attempt ran and left no complete checkpoint.
	ReasonNoCheckpoint = "NoCheckpoint"
	// ReasonUnresolved: rank 0's last report is missing and the volume could not be searched, so a newer
	// checkpoint may exist.
	ReasonUnresolved = "Unresolved"
	// ReasonCheckpointLost: the checkpoint that the last attempt resumed from is gone or torn.
	ReasonCheckpointLost = "CheckpointLost"
	// ReasonPlaceChanged: spec.checkpoint names another place than the one where the job's checkpoints are.
	ReasonPlaceChanged = "PlaceChanged"
	// ReasonStepsRepeated: the trainer repeats steps from before its resume point.
	ReasonStepsRepeated = "StepsRepeated"
	// ReasonStepsContinued: the trainer continues after its resume point.
	ReasonStepsContinued = "StepsContinued"
	// ReasonReportsOff: the operator has no report server.
	ReasonReportsOff = "ReportsOff"
	// ReasonReportsOn: the operator has a report server, or the job no longer saves to an object store.
	ReasonReportsOn = "ReportsOn"
)
