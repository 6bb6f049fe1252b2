package volcano_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

func TestContract(t *testing.T) {
	schedulertest.Run(t, volcano.New(volcano.DefaultOptions()), dialect())
}

func TestGolden(t *testing.T) {
	schedulertest.Golden(t, volcano.New(volcano.DefaultOptions()))
}

func dialect() schedulertest.Dialect {
	return schedulertest.Dialect{
		MinMember: func(o client.Object) int32 { return o.(*schedulingv1beta1.PodGroup).Spec.MinMember },
		GroupOf: func(p *corev1.Pod) string {
			return p.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
		},
		GroupStates: []schedulertest.GroupState{
			groupState("no phase", ""),
			groupState("pending", schedulingv1beta1.PodGroupPending),
			invites(groupState("inqueue", schedulingv1beta1.PodGroupInqueue)),
			invites(groupState("inqueue, unschedulable", schedulingv1beta1.PodGroupInqueue, unschedulable)),
			groupState("pending, unschedulable", schedulingv1beta1.PodGroupPending, unschedulable),
			groupState("unknown, unschedulable", schedulingv1beta1.PodGroupUnknown, unschedulable),
			groupState("running, scheduled", schedulingv1beta1.PodGroupRunning, scheduled),
			groupState("running, scheduled after it was not", schedulingv1beta1.PodGroupRunning, unschedulable,
				scheduled),
			groupState("completed", schedulingv1beta1.PodGroupCompleted, scheduled),
			groupState("a phase of a later Volcano", "Hibernating"),
		},
		UnsupportedGangs: []schedulertest.UnsupportedGang{
			{Name: "invalid queue name", Change: func(g *scheduler.Gang) {
				g.Queue = "Research!"
			}, Path: scheduler.PathQueue},
			{Name: "name too long for a label", Change: func(g *scheduler.Gang) {
				g.Name = strings.Repeat("n", 64)
			}, Path: scheduler.PathName},
		},
	}
}

type condition func(n int) schedulingv1beta1.PodGroupCondition

func groupState(
	name string, phase schedulingv1beta1.PodGroupPhase, conditions ...condition,
) schedulertest.GroupState {
	return schedulertest.GroupState{Name: name, Write: func(o client.Object, n int) {
		group := o.(*schedulingv1beta1.PodGroup)
		group.Status.Phase = phase
		for _, c := range conditions {
			group.Status.Conditions = append(group.Status.Conditions, c(n))
		}
	}}
}

func invites(s schedulertest.GroupState) schedulertest.GroupState {
	s.Invites = true
	return s
}

// unschedulable as plugins/gang writes it in session n: the rank at the end is the first of a random order,
// and where fewer than all ranks are needed it may be one that was never tried.
func unschedulable(n int) schedulingv1beta1.PodGroupCondition {
	origin := fmt.Sprintf("bert-worker-%d: 0/8 nodes are unavailable: 8 Insufficient nvidia.com/gpu.", n%4)
	return written(n, schedulingv1beta1.PodGroupUnschedulableType, schedulingv1beta1.NotEnoughResourcesReason,
		"3/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; Pending: 1 "+
			"Schedulable, 3 Unschedulable. Origin reason is "+origin)
}

func scheduled(n int) schedulingv1beta1.PodGroupCondition {
	return written(n+100, schedulingv1beta1.PodGroupScheduled, "tasks in gang are ready to be scheduled", "")
}

func written(
	n int, kind schedulingv1beta1.PodGroupConditionType, reason, message string,
) schedulingv1beta1.PodGroupCondition {
	return schedulingv1beta1.PodGroupCondition{
		Type: kind, Status: corev1.ConditionTrue, TransitionID: fmt.Sprintf("session-%d", n),
		LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC)), Reason: reason,
		Message: message,
	}
}
