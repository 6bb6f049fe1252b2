package explain

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// phases have a meaning and a next step each.
var phases = map[v1alpha1.Phase]struct{ means, next string }{
	"": {
		"the operator has not processed the job yet",
		"check that the operator runs and is the leader: kubectl get pods -n trainingjob-system",
	},
	v1alpha1.PhasePending: {
		"the gang is not submitted: something that it needs is missing",
		"the operator submits it as soon as nothing is missing",
	},
	v1alpha1.PhaseQueued: {
		"the gang waits until its scheduler places all ranks", "it starts as soon as the scheduler places it",
	},
	v1alpha1.PhaseStarting: {
		"the ranks have nodes and are starting", "the job runs once enough ranks have started",
	},
	v1alpha1.PhaseRunning: {"the gang runs", ""},
	v1alpha1.PhaseDraining: {
		"the attempt is over: the operator stops all its ranks", "wait until all ranks have stopped",
	},
	v1alpha1.PhaseRestarting: {
		"all ranks have stopped", "wait for the end of the backoff: the operator then queues the next attempt",
	},
	v1alpha1.PhaseSuspended: {
		"the job is suspended: it has no ranks and holds no quota",
		"set spec.runPolicy.suspend to false to resume it",
	},
	v1alpha1.PhaseSucceeded: {"the training is complete", ""},
	v1alpha1.PhaseFailed: {
		"the job has failed", "read the reason in the condition Failed; the job does not restart",
	},
}

// meanings has the reasons of this API that can block a job. A scheduler's own reasons have none.
var meanings = map[string]string{
	v1alpha1.ReasonInvalidSpec:           "the spec is invalid; a running gang keeps its old spec",
	v1alpha1.ReasonSchedulerMissing:      "the cluster does not serve what the job's scheduler needs",
	v1alpha1.ReasonSchedulerNotAllowed:   "the operator's configuration does not allow the scheduler",
	v1alpha1.ReasonAgentNotConfigured:    "the operator's configuration has no image of the checkpoint agent",
	v1alpha1.ReasonNameTaken:             "another controller owns an object whose name the job needs",
	v1alpha1.ReasonPodRejected:           "the API server rejects the ranks' pods",
	v1alpha1.ReasonGroupRejected:         "the API server rejects the gang's group",
	v1alpha1.ReasonTerminating:           "pods or objects of an earlier attempt or job are still being deleted",
	v1alpha1.ReasonNotJudged:             "the scheduler has not considered the gang yet",
	v1alpha1.ReasonWaitingInQueue:        "the scheduler has considered the gang and places others first",
	v1alpha1.ReasonWaitingBehind:         "there is capacity, but others in the queue come first",
	v1alpha1.ReasonSchedulerRests:        "the nodes have capacity, but the scheduler does not retry yet",
	v1alpha1.ReasonRoomReserved:          "the capacity is reserved for another gang",
	v1alpha1.ReasonUnschedulable:         "the scheduler cannot place the entire gang",
	v1alpha1.ReasonQueueNotFound:         "the queue does not exist",
	v1alpha1.ReasonQueueClosed:           "the queue is closed",
	v1alpha1.ReasonQuotaExceeded:         "others use the quota",
	v1alpha1.ReasonExceedsQuota:          "the gang is larger than the entire quota",
	v1alpha1.ReasonAdmissionCheckPending: "quota is reserved, but an admission check has not passed yet",
	v1alpha1.ReasonPriorityClassNotFound: "the priority class does not exist",
	v1alpha1.ReasonSchedulingGated:       "another controller's scheduling gate holds the ranks",
	v1alpha1.ReasonNoNodeMatches:         "a selector, an affinity or a taint rules out every node",
	v1alpha1.ReasonNoNodeLargeEnough:     "a rank requests more than any node has",
	v1alpha1.ReasonExceedsCluster:        "the gang requests more than all nodes together have",
	v1alpha1.ReasonExceedsDomain:         "the gang requests more than any domain of its topology has",
	v1alpha1.ReasonTopologyNotServed:     "the scheduler is not configured to keep a gang within one domain",
	v1alpha1.ReasonInsufficientResources: "the nodes have too little free",
	v1alpha1.ReasonVolumeUnbound:         "a PersistentVolumeClaim is missing or not bound",
	v1alpha1.ReasonImagePullFailed:       "an image cannot be pulled",
	v1alpha1.ReasonContainerNotStarted:   "a container cannot start",
	v1alpha1.ReasonContainerCreating:     "containers are being created",
	v1alpha1.ReasonPodHangs:              "a deleted pod does not end, although its node is ready",
	v1alpha1.ReasonGangHung:              "no rank has made progress within the limit of its phase",
	v1alpha1.ReasonRestartDoesNotHelp:    "restarts brought no progress, so the operator makes no more",
	v1alpha1.ReasonSharedCause:           "many gangs stopped at the same time, so the operator restarts none",
	v1alpha1.ReasonNodeLost:              "a node does not respond, and a rank on it can still run",
	v1alpha1.ReasonResolving:             "the operator searches the volume for the checkpoint to resume from",
}
