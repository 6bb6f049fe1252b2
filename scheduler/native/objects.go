package native

import (
	"cmp"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// GroupName returns the job's name and the attempt's number: a group cannot be reused.
func GroupName(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

// Objects implements scheduler.Backend. In the group's spec only minCount can change within an attempt; a
// group of another priority class must be deleted before it is applied again.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	wanted := constraints(g)
	if group := find(g, g.Existing); group != nil && group.Spec.SchedulingConstraints == nil {
		wanted = nil // dropped, and immutable: Read holds the gang
	}
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

			SchedulingConstraints: wanted,
		},
	}}, nil
}

// constraints returns the constraint of a gang that requires one domain. Without the gate
// TopologyAwareWorkloadScheduling the API server drops it (pkg/registry/scheduling/podgroup/strategy.go).
func constraints(g scheduler.Gang) *schedulingv1beta1.PodGroupSchedulingConstraints {
	if g.Within == "" {
		return nil
	}
	return &schedulingv1beta1.PodGroupSchedulingConstraints{
		Topology: []schedulingv1beta1.TopologyConstraint{{Key: g.Within}},
	}
}

// isWithin reports whether the group has the constraint that the gang needs.
func isWithin(g scheduler.Gang, group *schedulingv1beta1.PodGroup) bool {
	return g.Within == "" || equality.Semantic.DeepEqual(group.Spec.SchedulingConstraints, constraints(g))
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
