package volcano

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend. The package documentation has the table of phases.
func (b Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	switch {
	case group == nil:
		return scheduler.Verdict{Admission: scheduler.Hold}
	case group.DeletionTimestamp != nil:
		// Even an Inqueue group admits nothing now: it is losing its place in the queue.
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; the operator then creates it again",
		}
	case g.HasPods:
		return readWithPods(g, group)
	case !isWithin(g, group):
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonNotJudged,
			Message: "the gang's group does not have the topology yet",
		}
	}
	v := readWithoutPods(g, group)
	if !b.options.WaitForInqueue {
		v.Admission = scheduler.Go
	}
	return v
}

func readWithoutPods(g scheduler.Gang, group *schedulingv1beta1.PodGroup) scheduler.Verdict {
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupInqueue:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	case schedulingv1beta1.PodGroupPending:
		return pending(g, scheduler.Hold)
	case "":
		return notJudged(g, scheduler.Hold)
	}
	// Running, Unknown and Completed refer to deleted pods.
	return scheduler.Verdict{
		Admission: scheduler.Hold, Reason: scheduler.ReasonNotJudged,
		Message: "Volcano has not judged the group since the ranks of the last attempt were deleted",
	}
}

// readWithPods always returns Go; only the message differs. Volcano writes conditions only for gangs with
// pods (plugins/gang, OnSessionClose); for one session after the first pods of an attempt they may still be
// those of the previous attempt.
func readWithPods(g scheduler.Gang, group *schedulingv1beta1.PodGroup) scheduler.Verdict {
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupRunning, schedulingv1beta1.PodGroupCompleted:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	}
	if c := unschedulable(group); c != nil {
		return scheduler.Verdict{
			Admission: scheduler.Go, Judged: true,
			Reason: scheduler.ReasonUnschedulable, Message: stableMessage(g, c.Message),
			NextStep: fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling "+
				"shows what each rank lacks on the nodes", g.Namespace),
		}
	}
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupPending:
		return pending(g, scheduler.Go)
	case "":
		return notJudged(g, scheduler.Go)
	}
	return scheduler.Verdict{Admission: scheduler.Go}
}

// unschedulable returns the condition Unschedulable, or nil when the gang was scheduled after it: Volcano
// keeps one condition of each type and never removes one (framework/session.go, UpdatePodGroupCondition).
func unschedulable(group *schedulingv1beta1.PodGroup) *schedulingv1beta1.PodGroupCondition {
	var failed, scheduled *schedulingv1beta1.PodGroupCondition
	for i := range group.Status.Conditions {
		c := &group.Status.Conditions[i]
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == schedulingv1beta1.PodGroupUnschedulableType:
			failed = c
		case c.Type == schedulingv1beta1.PodGroupScheduled:
			scheduled = c
		}
	}
	if failed != nil && scheduled != nil && failed.LastTransitionTime.Before(&scheduled.LastTransitionTime) {
		return nil
	}
	return failed
}

// pending returns the verdict on a Pending group. A group stays Pending only because of the enqueue action,
// which reports in events and not in a condition (actions/enqueue, plugins/overcommit, proportion, capacity).
func pending(g scheduler.Gang, a scheduler.Admission) scheduler.Verdict {
	return scheduler.Verdict{
		Admission: a, Judged: true, Reason: scheduler.ReasonWaitingInQueue,
		Message: fmt.Sprintf("Volcano keeps the group Pending in %s: its minimum (%s) does not fit "+
			"with the running and admitted groups", queueText(g), resourcesText(g.MinResources)),
		NextStep: fmt.Sprintf("kubectl describe podgroups.scheduling.volcano.sh %s -n %s names the "+
			"resource that "+
			"is short; a higher priority preempts nothing while enqueue is among Volcano's actions",
			GroupName(g), g.Namespace),
	}
}

// notJudged returns the verdict on a group without a phase. A group whose queue does not exist is left out of
// every session and gets no phase, condition or event (cache/cache.go, Snapshot), so the next step names the
// queue.
func notJudged(g scheduler.Gang, a scheduler.Admission) scheduler.Verdict {
	check := "kubectl get queues.scheduling.volcano.sh default: the queue must exist and be Open"
	if g.Queue != "" {
		check = fmt.Sprintf("kubectl get queues.scheduling.volcano.sh %s: the queue must exist and be Open",
			g.Queue)
	}
	return scheduler.Verdict{
		Admission: a, Reason: scheduler.ReasonNotJudged,
		Message:  fmt.Sprintf("Volcano has not judged the group; it names %s", queueText(g)),
		NextStep: check + "; if it is, see that Volcano's scheduler runs",
	}
}
