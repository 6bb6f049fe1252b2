package native_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

func TestContract(t *testing.T) { schedulertest.Run(t, native.New(native.Options{}), dialect()) }

func TestGolden(t *testing.T) { schedulertest.Golden(t, native.New(native.Options{})) }

func dialect() schedulertest.Dialect {
	return schedulertest.Dialect{
		MinMember: func(o client.Object) int32 {
			return o.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount
		},
		GroupOf: func(p *corev1.Pod) string {
			if p.Spec.SchedulingGroup == nil || p.Spec.SchedulingGroup.PodGroupName == nil {
				return ""
			}
			return *p.Spec.SchedulingGroup.PodGroupName
		},
		PerAttempt: true,
		PodsFirst:  true,
		GroupStates: []schedulertest.GroupState{
			groupState("nothing"),
			groupState("scheduled",
				metav1.Condition{
					Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionTrue,
					Reason: "Scheduled",
				}),
			groupState("unschedulable", noVictims),
			groupState("unschedulable without a message", unschedulable),
			groupState("error", otherPriority),
			groupState("plugin's error", pluginFails),
			groupState("preempted", metav1.Condition{
				Type: schedulingv1beta1.DisruptionTarget, Status: metav1.ConditionTrue,
				Reason:  schedulingv1beta1.PodGroupReasonPreemptionByScheduler,
				Message: "preempting to accommodate a higher priority podgroup",
			}),
		},
		UnsupportedGangs: []schedulertest.UnsupportedGang{
			{Name: "queue", Change: func(g *scheduler.Gang) {
				g.Queue = "research"
			}, Path: scheduler.PathQueue},
			{Name: "queue named default", Change: func(g *scheduler.Gang) {
				g.Queue = "default"
			}, Path: scheduler.PathQueue},
			{
				Name: "fewer than all ranks of several roles", Path: scheduler.PathMinAvailable,
				Change: minRanksOfRoles,
			},
			{Name: "name too long for an attempt", Change: func(g *scheduler.Gang) {
				g.Name = strings.Repeat("n", 58)
			}, Path: scheduler.PathName},
		},
	}
}

func minRanksOfRoles(g *scheduler.Gang) {
	g.Roles = []scheduler.Role{
		{Name: "Master", Replicas: 1, MinAvailable: 1},
		{Name: "Worker", Replicas: 3, MinAvailable: 1},
	}
	g.MinAvailable = 2
}

var (
	unschedulable = metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
		Reason: schedulingv1beta1.PodGroupReasonUnschedulable,
	}
	// otherPriority is the condition of Kubernetes 1.37.1 on a gang whose class was made the default in
	// between.
	otherPriority = metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
		Reason: schedulingv1beta1.PodGroupReasonSchedulerError,
		Message: "all pods in a single pod group should have the same priority as the pod group's " +
			"priority, got 0 and 100",
	}
	// pluginFails is its condition on a gang whose volume claim is missing.
	pluginFails = metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
		Reason:  schedulingv1beta1.PodGroupReasonSchedulerError,
		Message: `error in "DynamicResources" PodGroupPostFilter plugins: not found`,
	}
	noVictims = metav1.Condition{
		Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: metav1.ConditionFalse,
		Reason: schedulingv1beta1.PodGroupReasonUnschedulable,
		Message: "minCount (4) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: " +
			"No preemption victims found for incoming preemptor",
	}
)

func groupState(name string, conditions ...metav1.Condition) schedulertest.GroupState {
	return schedulertest.GroupState{Name: name, Write: func(o client.Object, n int) {
		for _, c := range conditions {
			c.LastTransitionTime = metav1.NewTime(time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC))
			status := &o.(*schedulingv1beta1.PodGroup).Status
			status.Conditions = append(status.Conditions,
				c)
		}
	}}
}
