package native

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend.
func (Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	if group == nil {
		if g.Within != "" && !g.HasPods {
			return scheduler.Verdict{Admission: scheduler.Hold} // until the group has been read back: see isWithin
		}
		return scheduler.Verdict{Admission: scheduler.Go}
	}
	if group.DeletionTimestamp != nil && !g.HasPods {
		// A finalizer keeps the group until no pod refers to it (admission plugin podgroupprotection): a pod
		// that joined it now would keep it, and the gang waiting for a new one, forever.
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; the operator then creates it again",
		}
	}
	if !isWithin(g, group) && !g.HasPods {
		return scheduler.Verdict{
			Admission: scheduler.Hold, Judged: true, Reason: scheduler.ReasonTopologyNotServed,
			Message: fmt.Sprintf("the API server drops the topology constraint of the group: the gang "+
				"could be placed across several domains of %s", g.Within),
			NextStep: "an admin turns on the feature gate TopologyAwareWorkloadScheduling of the API " +
				"server and of " +
				"the scheduler; then " + restart(g),
		}
	}
	conditions := group.Status.Conditions
	if c := meta.FindStatusCondition(conditions, schedulingv1beta1.DisruptionTarget); c != nil &&
		c.Status == metav1.ConditionTrue {
		// The scheduler deletes the pods itself, so the gang need not yield.
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true, Reason: c.Reason, Message: c.Message}
	}
	c := meta.FindStatusCondition(conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	switch {
	case c == nil:
		return scheduler.Verdict{Admission: scheduler.Go}
	case c.Status == metav1.ConditionTrue:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	}
	return scheduler.Verdict{
		Admission: scheduler.Go, Judged: true, Reason: reason(c), Message: message(g, c), NextStep: nextStep(g, c),
	}
}
