package native

import (
	"fmt"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend.
func (Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	if group == nil {
		return scheduler.Verdict{Admission: scheduler.Go}
	}
	if group.DeletionTimestamp != nil && !g.HasPods {
		// A finalizer holds it until no pod uses it, so that joining it would keep it, and us, for ever
		// (admission podgroupprotection).
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; it is made anew once it is gone",
		}
	}
	conditions := group.Status.Conditions
	if c := meta.FindStatusCondition(conditions, schedulingv1alpha2.DisruptionTarget); c != nil && c.Status == metav1.ConditionTrue {
		// The scheduler deletes the pods itself, and they tell it better.
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true, Reason: c.Reason, Message: c.Message}
	}
	c := meta.FindStatusCondition(conditions, schedulingv1alpha2.PodGroupScheduled)
	switch {
	case c == nil:
		return scheduler.Verdict{Admission: scheduler.Go}
	case c.Status == metav1.ConditionTrue:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	}
	return scheduler.Verdict{
		Admission: scheduler.Go, Judged: true, Reason: c.Reason, Message: sentence(g, c),
		NextStep: fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling shows what each rank lacks on the nodes", g.Namespace),
	}
}

// find the group of this attempt; those of earlier ones say nothing of it.
func find(g scheduler.Gang, objs []client.Object) *schedulingv1alpha2.PodGroup {
	for _, o := range objs {
		if pg, ok := o.(*schedulingv1alpha2.PodGroup); ok && pg != nil && pg.Name == GroupName(g) {
			return pg
		}
	}
	return nil
}

// sentence: for a gang that does not fit kube-scheduler writes either no message at all or only why preemption would not
// help (schedule_one_podgroup.go, submitPodGroupAlgorithmResult).
func sentence(g scheduler.Gang, c *metav1.Condition) string {
	if c.Reason != schedulingv1alpha2.PodGroupReasonUnschedulable {
		return c.Message
	}
	s := fmt.Sprintf("the nodes have no room for %d ranks at once", g.MinAvailable)
	if c.Message != "" {
		s += ": " + c.Message
	}
	return s
}
