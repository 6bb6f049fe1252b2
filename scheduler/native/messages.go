package native

import (
	"fmt"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// differ is how validatePodGroup's message begins when pods differ from their group, or among themselves. The
// only cause is a priority class, or the cluster's default class, that changed after the group was created.
// Only a new group helps.
const differ = "all pods in a single pod group should have the same "

func differs(c *metav1.Condition) bool {
	return c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError && strings.HasPrefix(c.Message, differ)
}

// reason returns the condition's reason. An error of kube-scheduler is no cause if it only reflects something
// missing: v1.37.1 writes 'error in "DynamicResources" PodGroupPostFilter plugins: not found' on ranks whose
// volume claim does not exist. Other explanations take precedence over such a verdict.
func reason(c *metav1.Condition) string {
	if c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError && !differs(c) {
		return scheduler.ReasonUnschedulable
	}
	return c.Reason
}

// message returns the condition's message about the gang. For a gang that does not fit, kube-scheduler writes
// how many pods it could place, and why preemption would not help (schedule_one_podgroup.go,
// submitPodGroupAlgorithmResult).
func message(g scheduler.Gang, c *metav1.Condition) string {
	if c.Reason == schedulingv1beta1.PodGroupReasonSchedulerError {
		return "kube-scheduler cannot try the gang: " + c.Message
	}
	s := fmt.Sprintf("the nodes have no capacity for %d ranks at once", g.MinAvailable)
	if c.Message != "" {
		s += ": " + c.Message
	}
	return s
}

// nextStep of a gang that is not scheduled.
func nextStep(g scheduler.Gang, c *metav1.Condition) string {
	if differs(c) {
		return "a priority class changed after the group was created; " + restart(g)
	}
	return fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling "+
		"shows what each rank lacks on the nodes", g.Namespace)
}

// restart is the command that gives the gang a new group.
func restart(g scheduler.Gang) string {
	return fmt.Sprintf("restart the gang: "+
		"kubectl annotate trainingjob -n %s %s --overwrite mlplatform.example.com/restart=attempt-%d",
		g.Namespace, g.Name, g.Attempt)
}
