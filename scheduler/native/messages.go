package native

import (
	"fmt"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// differ begins what validatePodGroup says of a gang that differs from its group, or within itself, in what
// must be the same. The one way there is a priority class, or the cluster's default class, that changed after
// the group was made: only a group made anew mends it.
const differ = "all pods in a single pod group should have the same "

func differs(c *metav1.Condition) bool {
	return c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError && strings.HasPrefix(c.Message, differ)
}

// reason returns that of the condition. An error of kube-scheduler is no cause where it is only how a plugin
// fails over something that is missing: v1.37.1 says 'error in "DynamicResources" PodGroupPostFilter plugins:
// not found' of ranks whose volume claim does not exist. Such a verdict yields to what the facts say.
func reason(c *metav1.Condition) string {
	if c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError && !differs(c) {
		return scheduler.ReasonUnschedulable
	}
	return c.Reason
}

// message returns what the condition says about the gang. For a gang that does not fit, kube-scheduler writes
// how many pods it could place, and why preemption would not help (schedule_one_podgroup.go,
// submitPodGroupAlgorithmResult).
func message(g scheduler.Gang, c *metav1.Condition) string {
	if c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError {
		return "kube-scheduler cannot try the gang: " + c.Message
	}
	s := fmt.Sprintf("the nodes have no room for %d ranks at once", g.MinAvailable)
	if c.Message != "" {
		s += ": " + c.Message
	}
	return s
}

// nextStep of a gang that is not scheduled.
func nextStep(g scheduler.Gang, c *metav1.Condition) string {
	if differs(c) {
		return fmt.Sprintf("a priority class changed after the group was made; make the gang anew: "+
			"kubectl annotate trainingjob -n %s %s --overwrite mlplatform.example.com/restart=attempt-%d",
			g.Namespace, g.Name, g.Attempt)
	}
	return fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling "+
		"shows what each rank lacks on the nodes", g.Namespace)
}
