package native

import (
	"cmp"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// GroupName returns the job's name and the attempt's number: a group cannot be reused.
func GroupName(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

// Objects implements scheduler.Backend. In the group's spec only minCount can change within an attempt; a
// group of another priority class must be deleted before it is applied again.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	return []client.Object{&schedulingv1beta1.PodGroup{
		TypeMeta: metav1.TypeMeta{
			APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind,
		},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec: schedulingv1beta1.PodGroupSpec{
			SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
				Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: g.MinAvailable},
			},
			// The default is single. A gang that loses one rank must restart, so it is disrupted as a unit.
			DisruptionMode: &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}},
			// kube-scheduler never tries a group whose pods have another priority than the group
			// (schedule_one_podgroup.go, validatePodGroup), so both get the class.
			PriorityClassName: cmp.Or(g.WaitingClass, g.PriorityClass),
			PreemptionPolicy:  preemptionPolicy(g),
		},
	}}, nil
}

// preemptionPolicy of a group with a waiting class. With the gate PodGroupPreemptionPolicy, the API server
// gives a group without a policy the default PreemptLowerPriority (pkg/apis/scheduling/v1beta1/defaults.go),
// and then refuses it, since its class has Never (plugin/pkg/admission/priority). So the group sets the
// policy of its class. Without the gate the API server drops it.
func preemptionPolicy(g scheduler.Gang) *schedulingv1beta1.PreemptionPolicy {
	if g.WaitingClass == "" {
		return nil
	}
	return new(schedulingv1beta1.PreemptNever)
}

// find returns the group of this attempt, or nil. Groups of earlier attempts do not count.
func find(g scheduler.Gang, objs []client.Object) *schedulingv1beta1.PodGroup {
	return scheduler.Find[*schedulingv1beta1.PodGroup](objs, GroupName(g))
}
