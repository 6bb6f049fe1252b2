package v1alpha1

// Condition types of a TrainingJob. Only the operator writes them. Conditions other than Admitted are absent
// until they are first True.
const (
	// ConditionCreated is True once the operator has accepted the job: its spec is valid.
	ConditionCreated = "Created"
	// ConditionReady is True while every rank is ready or has succeeded. Running needs only minAvailable
	// ranks, and no readiness.
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
	// ConditionMakingRoom is True while the operator frees capacity for the gang by a preemption plan
	// (status.scheduling.preemption.phase).
	ConditionMakingRoom = "MakingRoom"
	// ConditionSuspended is True while the job is suspended.
	ConditionSuspended = "Suspended"
	// ConditionInvalidSpec is True while the spec of a job that was queued before is invalid or not supported
	// by its scheduler. The current attempt continues unchanged, and the operator starts no other.
	ConditionInvalidSpec = "InvalidSpec"
	// ConditionCheckpointUnknown is True if the last attempt's newest checkpoint is not known. Training
	// resumes from the last reported one, or starts from scratch.
	ConditionCheckpointUnknown = "CheckpointUnknown"
	// ConditionResumeIgnored is True while the trainer repeats steps from before its resume point.
	ConditionResumeIgnored = "ResumeIgnored"
	// ConditionResumeNeedsReports is True while the job saves to an object store and the operator has no report
	// server: when the node of rank 0 is lost, newer checkpoints than the last known one are not found.
	ConditionResumeNeedsReports = "ResumeNeedsReports"
	// ConditionStalled is True while ranks of the gang make no or slow progress, see status.liveness, and
	// Unknown if too few ranks send beats. Only with runPolicy.liveness.mode Warn or Act.
	ConditionStalled = "Stalled"
	// ConditionTopologyKept is True if the ranks have nodes of one domain, as topology mode Within requires,
	// and False if the scheduler placed them across domains. Absent before they have nodes.
	ConditionTopologyKept = "TopologyKept"
	// ConditionRehearsed is True if the rehearsal has passed, and False if a check has failed. It is Unknown
	// while the rehearsal runs, and if it was incomplete. Only on jobs with spec.rehearsal.
	ConditionRehearsed = "Rehearsed"
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
	// ReasonAccepted: the spec is valid. Only for the condition Created.
	ReasonAccepted = "Accepted"
	// ReasonRanksReady: every rank is ready or has succeeded. Only for the condition Ready, like
	// ReasonRanksNotReady.
	ReasonRanksReady = "RanksReady"
	// ReasonRanksNotReady: a rank is neither ready nor has succeeded.
	ReasonRanksNotReady = "RanksNotReady"
	// ReasonGangRunning: at least minAvailable ranks run.
	ReasonGangRunning = "GangRunning"
	// ReasonCompleted: the leader, or else every Worker, exited 0 before the operator stopped it, or rank 0
	// reported that every step is trained.
	ReasonCompleted = "Completed"
	// ReasonInvalidSpec: the spec is invalid or not supported by its scheduler. A job that was never queued
	// fails; any other waits, with this as its blocker.
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
	// ReasonEvicted: a drain or the kubelet evicted a rank, the kubelet rejected it, or the scheduler
	// reclaims the gang's quota.
	ReasonEvicted = "Evicted"
	// ReasonNodeLost: the node of a rank was deleted or does not answer. Also a blocker's reason while a
	// pod's deletion waits for such a node.
	ReasonNodeLost = "NodeLost"
	// ReasonPodDeleted: another client deleted the pod of a rank.
	ReasonPodDeleted = "PodDeleted"
	// ReasonPodVanished: the pod of a rank no longer exists, for an unknown reason.
	ReasonPodVanished = "PodVanished"
	// ReasonScheduleTimeout: the gang was queued for longer than scheduleTimeoutSeconds.
	ReasonScheduleTimeout = "ScheduleTimeout"
	// ReasonStartTimeout: the gang had its nodes, and did not run within the operator's start timeout.
	ReasonStartTimeout = "StartTimeout"
	// ReasonSpecChanged: the spec differs from the one that the attempt was made from.
	ReasonSpecChanged = "SpecChanged"
	// ReasonRestartRequested: the annotation mlplatform.example.com/restart has a new value.
	ReasonRestartRequested = "RestartRequested"
	// ReasonMakesRoom: the operator preempts the gang for one of a higher priority.
	ReasonMakesRoom = "MakesRoom"
	// ReasonHandedOver: the operator freed no capacity for the gang in time, and the scheduler preempts for
	// it now.
	ReasonHandedOver = "HandedOver"
	// ReasonSuspended: runPolicy.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonResumed: runPolicy.suspend is no longer true, and the gang was submitted again.
	ReasonResumed = "Resumed"
	// ReasonBackoffOver: the backoff after a restart is over, and the gang was submitted again.
	ReasonBackoffOver = "BackoffOver"
	// ReasonDrained: the attempt has ended for an unknown reason.
	ReasonDrained = "Drained"
	// ReasonRankReplaced: under restartScope Rank, the operator deletes the pod of a lost rank and creates a
	// replacement.
	ReasonRankReplaced = "RankReplaced"
	// ReasonResolving: the operator searches the volume for the checkpoint to resume from.
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
	// ReasonNameTaken: another controller owns an object whose name a pod, Service or group of the job needs.
	ReasonNameTaken = "NameTaken"
	// ReasonPodRejected: the API server rejects a rank's pod.
	ReasonPodRejected = "PodRejected"
	// ReasonGroupRejected: the API server rejects the gang's group or Service, or its scheduler cannot
	// express the gang.
	ReasonGroupRejected = "GroupRejected"
	// ReasonTerminating: pods of the previous attempt still exist.
	ReasonTerminating = "Terminating"
	// ReasonPodHangs: a deleted pod has not ended two minutes after its grace period, although its node is
	// ready.
	ReasonPodHangs = "PodHangs"
	// ReasonNotJudged: the scheduler has not reported on the gang yet.
	ReasonNotJudged = "NotJudged"
	// ReasonWaitingInQueue: the scheduler has seen the gang and not placed it, for an unknown reason.
	ReasonWaitingInQueue = "WaitingInQueue"
	// ReasonWaitingBehind: the gang would fit, but others come first.
	ReasonWaitingBehind = "WaitingBehind"
	// ReasonSchedulerRests: the nodes have capacity for the gang, but its scheduler rejected the gang and
	// does not retry. The operator wakes it.
	ReasonSchedulerRests = "SchedulerRests"
	// ReasonRoomReserved: the operator reserves capacity for another gang, which goes first: one of a higher
	// priority to which others yield, or a large one with a reservation.
	ReasonRoomReserved = "RoomReserved"
	// ReasonWaitingClassUnusable: the gang's priority class names an unusable waiting class, so the operator
	// preempts no gang.
	ReasonWaitingClassUnusable = "WaitingClassUnusable"
	// ReasonUnschedulable: the scheduler could not place a rank; the message is the scheduler's.
	ReasonUnschedulable = "Unschedulable"
	// ReasonQueueNotFound: no queue of that name exists.
	ReasonQueueNotFound = "QueueNotFound"
	// ReasonQueueClosed: the queue takes no jobs.
	ReasonQueueClosed = "QueueClosed"
	// ReasonQuotaExceeded: too little is left of a queue's or namespace's quota.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonExceedsQuota: the gang is larger than the total quota, and can never start.
	ReasonExceedsQuota = "ExceedsQuota"
	// ReasonAdmissionCheckPending: quota is reserved, and an admission check has not passed yet.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonPriorityClassNotFound: no priority class of that name exists.
	ReasonPriorityClassNotFound = "PriorityClassNotFound"
	// ReasonSchedulingGated: a rank's pod has a scheduling gate that its scheduler did not request.
	ReasonSchedulingGated = "SchedulingGated"
	// ReasonNoNodeMatches: node selectors, affinity and taints leave no node.
	ReasonNoNodeMatches = "NoNodeMatches"
	// ReasonNoNodeLargeEnough: a rank requests more than any node has.
	ReasonNoNodeLargeEnough = "NoNodeLargeEnough"
	// ReasonExceedsCluster: the gang requests more than all nodes have together.
	ReasonExceedsCluster = "ExceedsCluster"
	// ReasonExceedsDomain: the gang requests more than any domain of its topology has.
	ReasonExceedsDomain = "ExceedsDomain"
	// ReasonTopologyNotServed: the gang requires one domain, and its scheduler cannot keep it there as it is
	// configured.
	ReasonTopologyNotServed = "TopologyNotServed"
	// ReasonInsufficientResources: too little is free on the nodes, in total or on any single one.
	ReasonInsufficientResources = "InsufficientResources"
	// ReasonVolumeUnbound: a volume claim is missing or not bound.
	ReasonVolumeUnbound = "VolumeUnbound"
	// ReasonImagePullFailed: ranks hold nodes, and an image cannot be pulled there.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerNotStarted: ranks have got nodes, and one of their containers does not start, such as one
	// that refers to a missing Secret, or a node rejected a rank.
	ReasonContainerNotStarted = "ContainerNotStarted"
	// ReasonContainerCreating: ranks hold nodes that have prepared volumes, networks and images for half a
	// minute without an error.
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
	// ReasonCheckpointLost: the checkpoint that the last attempt resumed from was deleted or is incomplete.
	ReasonCheckpointLost = "CheckpointLost"
	// ReasonPlaceChanged: spec.checkpoint names another place than that of the job's checkpoints.
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

// Reasons of the condition TopologyKept.
const (
	// ReasonPlacedWithin: the ranks have nodes of one domain.
	ReasonPlacedWithin = "PlacedWithin"
	// ReasonPlacedAcross: the ranks have nodes of several domains, or nodes without the label.
	ReasonPlacedAcross = "PlacedAcross"
	// ReasonGangHung: no rank has made progress within the limit of its phase. Only for the condition Stalled,
	// like the reasons below, of which GangHung, RestartDoesNotHelp and SharedCause are blockers too.
	ReasonGangHung = "GangHung"
	// ReasonRankSilent: a rank no longer reports, while the others make progress.
	ReasonRankSilent = "RankSilent"
	// ReasonGangSlow: steps take longer than slowPercent of the job's median.
	ReasonGangSlow = "GangSlow"
	// ReasonRestartDoesNotHelp: two restarts in a row, or maxRestarts, brought no progress.
	ReasonRestartDoesNotHelp = "RestartDoesNotHelp"
	// ReasonSharedCause: many gangs stopped at the same time, so the operator restarts none of them.
	ReasonSharedCause = "SharedCause"
	// ReasonBeatsMissing: too few ranks report to judge the gang.
	ReasonBeatsMissing = "BeatsMissing"
	// ReasonProgressing: ranks make progress again.
	ReasonProgressing = "Progressing"
)

// Reasons of rehearsals: of the condition Rehearsed, of the end of the job, and of the drain of an attempt.
const (
	// ReasonRehearsalPlayed: the operator ends an attempt in one of the ways of spec.rehearsal.
	ReasonRehearsalPlayed = "RehearsalPlayed"
	// ReasonRehearsalRunning: not all ways are played.
	ReasonRehearsalRunning = "RehearsalRunning"
	// ReasonRehearsalPassed: the trainer saves and resumes.
	ReasonRehearsalPassed = "RehearsalPassed"
	// ReasonRehearsalFailed: a check has failed.
	ReasonRehearsalFailed = "RehearsalFailed"
	// ReasonRehearsalIncomplete: not all ways could be played, or too little was seen.
	ReasonRehearsalIncomplete = "RehearsalIncomplete"
	// ReasonRehearsalNeedsReports: the job waits because the operator has no report server.
	ReasonRehearsalNeedsReports = "RehearsalNeedsReports"
)
