package explain

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// phases by what they mean, and what comes next by itself.
var phases = map[v1alpha1.Phase]struct{ means, next string }{
	"": {
		"no operator has looked at the job yet",
		"see that the operator runs and leads: kubectl get pods -n trainingjob-system",
	},
	v1alpha1.PhasePending: {
		"the gang is not submitted, since something that it needs is missing",
		"it is submitted as soon as that is there",
	},
	v1alpha1.PhaseQueued: {
		"the gang waits until its scheduler places it whole", "it starts as soon as the scheduler places it",
	},
	v1alpha1.PhaseStarting: {
		"the ranks have their nodes, and start", "it runs once enough ranks have started",
	},
	v1alpha1.PhaseRunning:    {"the gang runs", ""},
	v1alpha1.PhaseDraining:   {"the attempt is over, and all its ranks are ended", "then its cause is settled"},
	v1alpha1.PhaseRestarting: {"no rank is left", "the next attempt is queued when the backoff is over"},
	v1alpha1.PhaseSuspended: {
		"the job is suspended: it has no ranks and holds no quota",
		"set spec.runPolicy.suspend to false to resume it",
	},
	v1alpha1.PhaseSucceeded: {"the training is complete", ""},
	v1alpha1.PhaseFailed: {
		"the job has failed", "the condition Failed has the reason; the job does not start again",
	},
}

// meanings of the reasons of this API that can block a job. Reasons of a scheduler's own have none.
var meanings = map[string]string{
	v1alpha1.ReasonInvalidSpec:           "the spec is invalid; a gang that runs goes on as it is",
	v1alpha1.ReasonSchedulerMissing:      "the cluster does not serve what the job's scheduler needs",
	v1alpha1.ReasonSchedulerNotAllowed:   "the operator's configuration does not allow the scheduler",
	v1alpha1.ReasonAgentNotConfigured:    "the operator has no image of the agent for checkpoints",
	v1alpha1.ReasonNameTaken:             "an object of a name that the job needs is somebody else's",
	v1alpha1.ReasonPodRejected:           "the API server rejects the ranks' pods",
	v1alpha1.ReasonGroupRejected:         "the API server rejects the gang's group",
	v1alpha1.ReasonTerminating:           "what is left of an earlier attempt or job is still being deleted",
	v1alpha1.ReasonNotJudged:             "the scheduler has not looked at the gang yet",
	v1alpha1.ReasonWaitingInQueue:        "the scheduler has looked at the gang and serves others first",
	v1alpha1.ReasonWaitingBehind:         "there is room, and others of the queue are served first",
	v1alpha1.ReasonSchedulerRests:        "the nodes have room, and the scheduler does not look again yet",
	v1alpha1.ReasonRoomReserved:          "others make room for a gang of a higher priority, which comes first",
	v1alpha1.ReasonUnschedulable:         "the scheduler finds no place for the whole gang",
	v1alpha1.ReasonQueueNotFound:         "the queue does not exist",
	v1alpha1.ReasonQueueClosed:           "the queue admits nothing",
	v1alpha1.ReasonQuotaExceeded:         "the quota is used up by others",
	v1alpha1.ReasonExceedsQuota:          "the gang is larger than the whole quota",
	v1alpha1.ReasonAdmissionCheckPending: "quota is reserved, and an admission check has not passed yet",
	v1alpha1.ReasonPriorityClassNotFound: "the priority class does not exist",
	v1alpha1.ReasonSchedulingGated:       "a scheduling gate of somebody else's holds the ranks",
	v1alpha1.ReasonNoNodeMatches:         "a selector, an affinity or a taint rules out every node",
	v1alpha1.ReasonNoNodeLargeEnough:     "a rank requests more than any node has",
	v1alpha1.ReasonExceedsCluster:        "the gang requests more than all nodes together have",
	v1alpha1.ReasonInsufficientResources: "too little is free on the nodes",
	v1alpha1.ReasonVolumeUnbound:         "a PersistentVolumeClaim is missing or not bound",
	v1alpha1.ReasonImagePullFailed:       "an image cannot be pulled",
	v1alpha1.ReasonContainerNotStarted:   "a container cannot start",
	v1alpha1.ReasonContainerCreating:     "containers are being created",
	v1alpha1.ReasonNodeLost:              "a node does not answer, and a rank on it may still run",
	v1alpha1.ReasonResolving:             "the volume is searched for the checkpoint to resume from",
}
