package scheduler

// Reasons of a Verdict or an Explanation that dialects share. They equal those of api/v1alpha1, which this
// leaf package may not import; a test compares them. A scheduler's own reason takes precedence.
const (
	// ReasonNotJudged: the scheduler has not judged the gang yet.
	ReasonNotJudged = "NotJudged"
	// ReasonWaitingInQueue: the scheduler has judged the gang and serves others first.
	ReasonWaitingInQueue = "WaitingInQueue"
	// ReasonUnschedulable: the gang's pods exist and the nodes cannot take all of them.
	ReasonUnschedulable = "Unschedulable"
	// ReasonTerminating: the group is being deleted, so no pod may join it.
	ReasonTerminating = "Terminating"
	// ReasonQueueNotFound and ReasonQueueClosed: the queue that the gang names admits nothing.
	ReasonQueueNotFound = "QueueNotFound"
	ReasonQueueClosed   = "QueueClosed"
	// ReasonQuotaExceeded: the quota is used up; ReasonExceedsQuota: the gang is larger than the entire
	// quota.
	ReasonQuotaExceeded = "QuotaExceeded"
	ReasonExceedsQuota  = "ExceedsQuota"
	// ReasonAdmissionCheckPending: quota is reserved, and an admission check has not passed yet.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonNoNodeMatches: a node selector, an affinity or a taint rules out every node.
	ReasonNoNodeMatches = "NoNodeMatches"
	// ReasonNoNodeLargeEnough: a rank requests more than any node has.
	ReasonNoNodeLargeEnough = "NoNodeLargeEnough"
	// ReasonExceedsCluster: the gang requests more than all nodes together have.
	ReasonExceedsCluster = "ExceedsCluster"
	// ReasonExceedsDomain: the gang requests more than any domain of its topology has.
	ReasonExceedsDomain = "ExceedsDomain"
	// ReasonTopologyNotServed: the gang requires one domain, and its scheduler cannot keep it there as it is
	// configured.
	ReasonTopologyNotServed = "TopologyNotServed"
	// ReasonInsufficientResources: too little is free, on all nodes together or on any one node.
	ReasonInsufficientResources = "InsufficientResources"
	// ReasonVolumeUnbound: a PersistentVolumeClaim is missing or not bound.
	ReasonVolumeUnbound = "VolumeUnbound"
	// ReasonWaitingBehind: there is capacity, and others are served first.
	ReasonWaitingBehind = "WaitingBehind"
	// ReasonSchedulerRests: the nodes have capacity, and the scheduler, which has rejected the gang, does not
	// retry.
	ReasonSchedulerRests = "SchedulerRests"
)
