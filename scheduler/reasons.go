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
	// ReasonTerminating: the group is being deleted; nothing joins it.
	ReasonTerminating = "Terminating"
	// ReasonQueueNotFound and ReasonQueueClosed: nothing is admitted from the queue that the gang names.
	ReasonQueueNotFound = "QueueNotFound"
	ReasonQueueClosed   = "QueueClosed"
	// ReasonQuotaExceeded: the quota is used up; ReasonExceedsQuota: the gang is larger than the whole quota.
	ReasonQuotaExceeded = "QuotaExceeded"
	ReasonExceedsQuota  = "ExceedsQuota"
	// ReasonAdmissionCheckPending: quota is reserved, and something else has yet to agree.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
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
	// ReasonWaitingBehind: there is room, and others are served first.
	ReasonWaitingBehind = "WaitingBehind"
)

// Paths of the TrainingJob's fields that a Backend's Validate speaks of.
const (
	PathName          = "metadata.name"
	PathQueue         = "spec.runPolicy.schedulingPolicy.queue"
	PathMinAvailable  = "spec.runPolicy.schedulingPolicy.minAvailable"
	PathMinResources  = "spec.runPolicy.schedulingPolicy.minResources"
	PathPriorityClass = "spec.runPolicy.schedulingPolicy.priorityClass"
)
