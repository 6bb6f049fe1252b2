package coscheduling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			{Name: "minResources of the user", Change: func(g *scheduler.Gang) {
				g.MinResourcesGiven = true
			}, Path: scheduler.PathMinResources},
			{
				Name: "fewer than all ranks of several roles", Path: scheduler.PathMinAvailable,
				Change: minRanksOfRoles,
			},
			{Name: "name without room for an attempt", Change: func(g *scheduler.Gang) {
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

// What v0.34.7 wrote on the ranks of gangs of four, on a cluster with room for two and under a quota;
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

func TestRead(t *testing.T) {
	const events = "kubectl get events -n team-a --field-selector reason=FailedScheduling shows what " +
		"each rank lacks on the nodes"
	deleted := metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	unschedulable := func(message string) scheduler.Verdict {
		return scheduler.Verdict{
			Admission: scheduler.Go, Judged: true, Reason: "Unschedulable", Message: message,
			NextStep: events,
		}
	}
	cases := map[string]struct {
		reason   string
		hasPods  bool
		deleted  *metav1.Time
		messages []string
		want     scheduler.Verdict
	}{
		"no pods": {reason: "pods must exist to be judged", want: scheduler.Verdict{Admission: scheduler.Go}},
		"pods that were not tried": {
			reason: "silence is a delay", hasPods: true, want: scheduler.Verdict{Admission: scheduler.Go},
		},
		"the first pods of a gang": {
			reason: "turned away for want of siblings, not of room", hasPods: true,
			messages: []string{siblingless},
			want:     scheduler.Verdict{Admission: scheduler.Go},
		},
		"the first pods of a gang, and the group rests": {
			reason: "nor is that a judgement of the gang", hasPods: true,
			messages: []string{siblingless, recently},
			want:     scheduler.Verdict{Admission: scheduler.Go},
		},
		"no room": {
			reason: "without the numbers and names that change", hasPods: true,
			messages: []string{away, siblingless, full, recently},
			want: unschedulable(
				"the nodes have no room for 4 ranks at once: Insufficient nvidia.com/gpu",
			),
		},
		"sent away only": {
			reason: "the rank that did not fit is told by its word, when it is there", hasPods: true,
			messages: []string{away, apart, late, recently},
			want:     unschedulable("the nodes have no room for 4 ranks at once"),
		},
		"several causes": {
			reason: "each once, in a fixed order", hasPods: true, messages: []string{tainted, full},
			want: unschedulable(
				"the nodes have no room for 4 ranks at once: Insufficient nvidia.com/gpu, node(s) had " +
					"untolerated taint {a: b}",
			),
		},
		"over the namespace's quota": {
			reason: "a quota is named before nodes: with it gone the nodes may suffice", hasPods: true,
			messages: []string{away, quota},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "QuotaExceeded",
				Message: "the ElasticQuota of namespace team-a has no room for 4 ranks at once: its " +
					"max would be exceeded",
				NextStep: "kubectl get elasticquotas -n team-a -o yaml shows max and what is used; " +
					"every resource that the ranks request must be in it",
			},
		},
		"over all quotas": {
			reason: "guarantees of others cannot be borrowed beyond their sum", hasPods: true,
			messages: []string{total},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "QuotaExceeded",
				Message: "the cluster's ElasticQuotas have no room for 4 ranks at once: more would be " +
					"used than their min add up to",
				NextStep: "kubectl get elasticquotas -A -o yaml shows min and what is used; every " +
					"resource that the ranks request must be in min",
			},
		},
		"deleted, no pods": {
			reason: "pods must not meet a group that is going", deleted: &deleted,
			want: scheduler.Verdict{
				Admission: scheduler.Hold, Reason: "Terminating",
				Message: "the gang's group is being deleted; it is made anew once it is gone",
			},
		},
		"deleted with pods": {
			reason: "pods that exist are not held back by it", deleted: &deleted, hasPods: true,
			want: scheduler.Verdict{Admission: scheduler.Go},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, g := coscheduling.New(coscheduling.Options{}), schedulertest.Gang()
			g.HasPods, g.UnschedulableMessages = tc.hasPods, tc.messages
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			objs[0].SetDeletionTimestamp(tc.deleted)
			if diff := cmp.Diff(tc.want, b.Read(g, objs)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// How long ranks may keep nodes for the rest is the user's word where there is one, else the profile's.
func TestScheduleTimeout(t *testing.T) {
	for name, tc := range map[string]struct{ given, want *int32 }{
		"none":    {nil, nil},
		"forever": {new(int32(0)), nil},
		"a limit": {new(int32(600)), new(int32(600))},
	} {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.ScheduleTimeoutSeconds = tc.given
			objs, err := coscheduling.New(coscheduling.Options{}).Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want,
				objs[0].(*schedulingv1alpha1.PodGroup).Spec.ScheduleTimeoutSeconds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Ranks that sleep for a reason that is over are woken by a change of their group; those that found no room
// are not.
func TestWake(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []string
		want     bool
	}{
		"not tried":                       {nil, false},
		"early, the others to be tried":   {[]string{siblingless}, false},
		"early, and the group rests":      {[]string{siblingless, recently}, true},
		"no room, and the group rests":    {[]string{full, recently}, false},
		"early, but then no room":         {[]string{siblingless, full, recently}, false},
		"early, but others were let wait": {[]string{siblingless, away, recently}, false},
		"tried again while it rests":      {[]string{recently, recently}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.UnschedulableMessages = tc.messages
			objs, err := coscheduling.New(coscheduling.Options{}).Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := objs[0].GetAnnotations()[coscheduling.AnnotationWake]; got != tc.want {
				t.Errorf("woken: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestSchedulerName(t *testing.T) {
	for given, want := range map[string]string{"": "scheduler-plugins-scheduler", "gangs": "gangs"} {
		g := schedulertest.Gang()
		pod := schedulertest.Pod(g, g.Roles[0], 0)
		coscheduling.New(coscheduling.Options{SchedulerName: given}).Join(pod, g,
			scheduler.Verdict{Admission: scheduler.Go})
		if pod.Spec.SchedulerName != want {
			t.Errorf("%q: the pod names %q, want %q", given, pod.Spec.SchedulerName, want)
		}
	}
}
