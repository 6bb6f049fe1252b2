package coscheduling_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

func TestContract(t *testing.T) {
	schedulertest.Run(t, coscheduling.New(coscheduling.Options{}), dialect())
}

func TestGolden(t *testing.T) { schedulertest.Golden(t, coscheduling.New(coscheduling.Options{})) }

func dialect() schedulertest.Dialect {
	return schedulertest.Dialect{
		MinMember:  func(o client.Object) int32 { return o.(*schedulingv1alpha1.PodGroup).Spec.MinMember },
		GroupOf:    func(p *corev1.Pod) string { return p.Labels[schedulingv1alpha1.PodGroupLabel] },
		PerAttempt: true,
		GroupStates: []schedulertest.GroupState{
			groupState(""), // where the controller does not run
			groupState(schedulingv1alpha1.PodGroupPending),
			groupState(schedulingv1alpha1.PodGroupScheduling),
			groupState(schedulingv1alpha1.PodGroupRunning),
			groupState(schedulingv1alpha1.PodGroupUnknown),
			groupState(schedulingv1alpha1.PodGroupFinished),
			groupState(schedulingv1alpha1.PodGroupFailed),
		},
		UnsupportedGangs: []schedulertest.UnsupportedGang{
			{Name: "queue", Change: func(g *scheduler.Gang) {
				g.Queue = "research"
			}, Path: scheduler.PathQueue},
			{Name: "queue named default", Change: func(g *scheduler.Gang) {
				g.Queue = "default"
			}, Path: scheduler.PathQueue},
			{Name: "one domain", Change: func(g *scheduler.Gang) {
				g.Within = "example.com/rack"
			}, Path: scheduler.PathTopology},
			{Name: "minResources of the user", Change: func(g *scheduler.Gang) {
				g.MinResourcesGiven = true
			}, Path: scheduler.PathMinResources},
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

// groupState is what the optional controller writes.
func groupState(phase schedulingv1alpha1.PodGroupPhase) schedulertest.GroupState {
	return schedulertest.GroupState{Name: "phase " + string(phase), Write: func(o client.Object, n int) {
		o.(*schedulingv1alpha1.PodGroup).Status = schedulingv1alpha1.PodGroupStatus{
			Phase: phase, OccupiedBy: "team-a/bert", Running: int32(n),
			ScheduleStartTime: metav1.NewTime(time.Date(2026, 11, 1, 12, 0, n, 0, time.UTC)),
		}
	}}
}

// Messages of v0.34.7 on the ranks of gangs of four, on a cluster with capacity for two and under a quota;
// shortened at "...".
const (
	full = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. no new claims to deallocate, 0/4 " +
		"nodes are available: 1 No victims " +
		"found on node node-0 for preemptor pod bert-worker-1, ..., PodGroup team-a/bert-1 gets " +
		"rejected due to Pod bert-worker-1 is " +
		"unschedulable even after PostFilter"
	tainted = "0/4 nodes are available: 1 node(s) had untolerated taint {a: b}, 3 Insufficient " +
		"nvidia.com/gpu. no new claims to deallocate, ..."
	away  = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
	apart = "0/1 nodes are available: 1 rejection in Unreserve."
	late  = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin " +
		"Coscheduling."
	recently = "0/4 nodes are available: podGroup team-a/bert-1 failed recently. no new claims to " +
		"deallocate, ..."
	siblingless = "0/4 nodes are available: pre-filter pod bert-worker-0 cannot find enough sibling " +
		"pods, current pods number: 1, minMember of group: 4. ..."
	quota = "0/4 nodes are available: Pod team-a/bert-worker-2 is rejected in PreFilter because " +
		"ElasticQuota team-a is more than Max. ..."
	total = "0/4 nodes are available: Pod team-a/bert-worker-2 is rejected in PreFilter because total " +
		"ElasticQuota used is more than min. ..."
)
