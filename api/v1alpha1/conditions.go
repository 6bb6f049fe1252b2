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
	// ConditionSucceeded and ConditionFailed: True for ever once so.
	ConditionSucceeded = "Succeeded"
	ConditionFailed    = "Failed"
)

// Reasons of transitions, conditions, events and blockers.
const (
	ReasonQueued           = "Queued"
	ReasonPlaced           = "Placed"
	ReasonGangRunning      = "GangRunning"
	ReasonGangBelowMinimum = "GangBelowMinimum"
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
	ReasonSchedulerReady   = "SchedulerInstalled"
	ReasonNameTaken        = "NameTaken"
	ReasonQuotaExceeded    = "QuotaExceeded"
	ReasonPodRejected      = "PodRejected"
	ReasonGroupRejected    = "GroupRejected"
	ReasonNotJudged        = "NotJudged"
	ReasonUnschedulable    = "Unschedulable"
	ReasonWaitingInQueue   = "WaitingInQueue"
)
