package v1alpha1

import "slices"

// reasons are the values of all constants whose names begin with Reason.
var reasons = []string{
	ReasonQueued, ReasonPlaced, ReasonAccepted, ReasonRanksReady, ReasonRanksNotReady, ReasonGangRunning,
	ReasonCompleted, ReasonInvalidSpec, ReasonSpecValid, ReasonBackoffLimit, ReasonDeadlineExceeded,
	ReasonRankFailed, ReasonPermanentFailure, ReasonPreempted, ReasonEvicted, ReasonNodeLost,
	ReasonPodDeleted, ReasonPodVanished, ReasonScheduleTimeout, ReasonStartTimeout, ReasonSpecChanged,
	ReasonRestartRequested, ReasonSuspended, ReasonResumed, ReasonBackoffOver, ReasonDrained,
	ReasonRankReplaced, ReasonResolving, ReasonSchedulerMissing, ReasonSchedulerNotAllowed,
	ReasonAgentNotConfigured, ReasonNameTaken, ReasonPodRejected, ReasonGroupRejected, ReasonTerminating,
	ReasonNotJudged, ReasonWaitingInQueue, ReasonWaitingBehind, ReasonSchedulerRests, ReasonUnschedulable,
	ReasonQueueNotFound, ReasonQueueClosed, ReasonQuotaExceeded, ReasonExceedsQuota,
	ReasonAdmissionCheckPending, ReasonPriorityClassNotFound, ReasonSchedulingGated, ReasonNoNodeMatches,
	ReasonNoNodeLargeEnough, ReasonExceedsCluster, ReasonInsufficientResources, ReasonVolumeUnbound,
	ReasonImagePullFailed, ReasonContainerNotStarted, ReasonContainerCreating, ReasonCheckpointKnown,
	ReasonNoCheckpoint, ReasonUnresolved, ReasonCheckpointLost, ReasonPlaceChanged, ReasonStepsRepeated,
	ReasonStepsContinued, ReasonReportsOff, ReasonReportsOn, ReasonMakesRoom, ReasonHandedOver,
	ReasonRoomReserved, ReasonWaitingClassUnusable, ReasonPodHangs, ReasonExceedsDomain,
	ReasonTopologyNotServed, ReasonPlacedWithin, ReasonPlacedAcross,
	ReasonGangHung, ReasonRankSilent, ReasonGangSlow, ReasonRestartDoesNotHelp, ReasonSharedCause,
	ReasonBeatsMissing, ReasonProgressing,
	ReasonRehearsalPlayed, ReasonRehearsalRunning, ReasonRehearsalPassed, ReasonRehearsalFailed,
	ReasonRehearsalIncomplete, ReasonRehearsalNeedsReports,
}

// KnownReason reports whether a reason belongs to this API. Schedulers have others, which other clients can
// write. Callers that must bound the number of reasons, such as for the series of a metric, group those.
func KnownReason(reason string) bool { return slices.Contains(reasons, reason) }
