package native

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// message returns what the condition says about the gang. For a gang that does not fit, kube-scheduler writes
// either no message or only why preemption would not help (schedule_one_podgroup.go,
// submitPodGroupAlgorithmResult).
func message(g scheduler.Gang, c *metav1.Condition) string {
	if c.Reason != schedulingv1beta1.PodGroupReasonUnschedulable {
		return c.Message
	}
	s := fmt.Sprintf("the nodes have no room for %d ranks at once", g.MinAvailable)
	if c.Message != "" {
		s += ": " + c.Message
	}
	return s
}
