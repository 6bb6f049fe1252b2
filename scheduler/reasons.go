package scheduler

// Reasons of a Verdict that every dialect shares. They equal those of api/v1alpha1, which this leaf package may not
// import; a test holds them together. A scheduler's own word stands where it has one.
const (
	// ReasonNotJudged: the scheduler has not looked at this group.
	ReasonNotJudged = "NotJudged"
	// ReasonWaitingInQueue: the scheduler has looked and lets others go first.
	ReasonWaitingInQueue = "WaitingInQueue"
	// ReasonUnschedulable: the gang's pods exist and no nodes have room for all of them.
	ReasonUnschedulable = "Unschedulable"
	// ReasonQuotaExceeded: a quota of GPUs, not the nodes, keeps the gang waiting.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonTerminating: the group is being deleted; nothing joins it.
	ReasonTerminating = "Terminating"
)

// Paths of the TrainingJob's fields that a Backend's Validate speaks of.
const (
	PathName          = "metadata.name"
	PathQueue         = "spec.runPolicy.schedulingPolicy.queue"
	PathMinAvailable  = "spec.runPolicy.schedulingPolicy.minAvailable"
	PathMinResources  = "spec.runPolicy.schedulingPolicy.minResources"
	PathPriorityClass = "spec.runPolicy.schedulingPolicy.priorityClass"
)
