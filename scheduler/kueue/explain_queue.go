package kueue

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// localQueueUnusable explains that the gang's LocalQueue is missing or stopped.
func localQueueUnusable(g scheduler.Gang, q queues) (scheduler.Explanation, bool) {
	local := q.local[client.ObjectKey{Namespace: g.Namespace, Name: g.Queue}]
	switch {
	case local == nil:
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueNotFound, Object: localQueueResource + g.Queue,
			Message: fmt.Sprintf("namespace %s has no LocalQueue %s; those of other namespaces do not "+
				"serve it",
				g.Namespace, g.Queue),
			NextStep: fmt.Sprintf("name one that `kubectl get localqueues.kueue.x-k8s.io -n %s` lists "+
				"in the label %s, or ask the admin to create %s", g.Namespace, QueueLabel, g.Queue),
		}, true
	case isStopped(local.Spec.StopPolicy):
		return queueStopped("LocalQueue", localQueueResource, local.Name, *local.Spec.StopPolicy), true
	}
	return scheduler.Explanation{}, false
}

// clusterQueueUnusable explains that the ClusterQueue of the gang's LocalQueue is missing, stopped or
// inactive.
func clusterQueueUnusable(g scheduler.Gang, name string, q queues) (scheduler.Explanation, bool) {
	cluster := q.cluster[name]
	switch {
	case cluster == nil:
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueNotFound, Object: clusterQueueResource + name,
			Message: fmt.Sprintf("LocalQueue %s leads to ClusterQueue %s, which does not exist", g.Queue,
				name),
			NextStep: fmt.Sprintf("name another queue in the label %s, or ask the admin to create "+
				"ClusterQueue %s",
				QueueLabel, name),
		}, true
	case isStopped(cluster.Spec.StopPolicy):
		return queueStopped("ClusterQueue", clusterQueueResource, name, *cluster.Spec.StopPolicy), true
	case inactiveMessage(cluster) != "":
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: clusterQueueResource + name,
			Message: fmt.Sprintf("ClusterQueue %s is not active: %s", name, inactiveMessage(cluster)),
			NextStep: fmt.Sprintf("ask the admin to correct ClusterQueue %s, or name another queue in "+
				"the label %s",
				name, QueueLabel),
		}, true
	}
	return scheduler.Explanation{}, false
}

func queueStopped(kind, resource, name string, policy kueuev1beta2.StopPolicy) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: resource + name,
		Message: fmt.Sprintf("%s %s is stopped (%s): it starts no jobs", kind, name, policy),
		NextStep: fmt.Sprintf("wait until the admin sets stopPolicy of %s %s to None, "+
			"or name another queue in the label %s", kind, name, QueueLabel),
	}
}

// behindOthers explains that Kueue has not judged the Workload because of others. In a StrictFIFO queue Kueue
// judges only the first. In any other queue it skips Workloads equivalent to one that did not fit
// (pkg/cache/queue, hashToBulkMoveReason).
func behindOthers(
	g scheduler.Gang, c *kueuev1beta2.ClusterQueue, q queues, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	others := c.Status.PendingWorkloads - 1
	if others < 1 {
		return scheduler.Explanation{}, false
	}
	wait := scheduler.About(int(others)) + " others wait"
	if others == 1 {
		wait = "1 other waits"
	}
	e := scheduler.Explanation{
		Reason: scheduler.ReasonWaitingBehind, Object: clusterQueueResource + c.Name,
		Message: fmt.Sprintf("ClusterQueue %s serves strictly in order (StrictFIFO), and it is not "+
			"first: %s in it",
			c.Name, wait),
		NextStep: fmt.Sprintf("it is tried when those before it have started; "+
			"a higher priority (label %s) lets it pass them", PriorityClassLabel),
	}
	if c.Spec.QueueingStrategy == kueuev1beta2.StrictFIFO {
		return e, true
	}
	e.Message = fmt.Sprintf("%s in ClusterQueue %s, "+
		"and while one of the same shape and priority does not fit Kueue tries no other", wait, c.Name)
	if short, ok := ownQuota(g, c, q, s); ok && c.Spec.CohortName == "" {
		short.NextStep, short.Message = quotaStep(g), short.Message+"; "+e.Message
		return short, true
	}
	return e, true
}
