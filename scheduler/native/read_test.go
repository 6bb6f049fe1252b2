package native_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

func TestRead(t *testing.T) {
	const events = "kubectl get events -n team-a --field-selector reason=FailedScheduling shows what " +
		"each rank lacks on the nodes"
	deleted := metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	cases := map[string]struct {
		reason     string
		hasPods    bool
		deleted    *metav1.Time
		conditions []metav1.Condition
		want       scheduler.Verdict
	}{
		"no condition": {
			reason: "pods must exist to be judged", want: scheduler.Verdict{Admission: scheduler.Go},
		},
		"unschedulable": {
			reason: "kube-scheduler names no cause for a gang", hasPods: true,
			conditions: []metav1.Condition{unschedulable},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "Unschedulable",
				Message: "the nodes have no capacity for 4 ranks at once", NextStep: events,
			},
		},
		"unschedulable without victims": {
			reason: "the message about preemption is kept", hasPods: true, conditions: []metav1.Condition{noVictims},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "Unschedulable",
				Message:  "the nodes have no capacity for 4 ranks at once: " + noVictims.Message,
				NextStep: events,
			},
		},
		"priorities differ": {
			reason: "group and pods that differ in priority need a restart", hasPods: true,
			conditions: []metav1.Condition{otherPriority},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "SchedulerError",
				Message: "kube-scheduler cannot try the gang: " + otherPriority.Message,
				NextStep: "a priority class changed after the group was created; restart the gang: kubectl " +
					"annotate trainingjob -n team-a bert --overwrite mlplatform.example.com/restart=attempt-1",
			},
		},
		"a plugin fails": {
			reason: "the facts may have the cause", hasPods: true, conditions: []metav1.Condition{pluginFails},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "Unschedulable",
				Message:  "kube-scheduler cannot try the gang: " + pluginFails.Message,
				NextStep: events,
			},
		},
		"deleted, no pods": {
			reason: "a pod that joins it keeps it alive by its finalizer", deleted: &deleted,
			want: scheduler.Verdict{
				Admission: scheduler.Hold, Reason: "Terminating",
				Message: "the gang's group is being deleted; the operator then creates it again",
			},
		},
		"deleted with pods": {
			reason: "existing pods are unaffected", deleted: &deleted, hasPods: true,
			want: scheduler.Verdict{Admission: scheduler.Go},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, g := native.New(native.Options{}), schedulertest.Gang()
			g.HasPods = tc.hasPods
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			objs[0].SetDeletionTimestamp(tc.deleted)
			objs[0].(*schedulingv1beta1.PodGroup).Status.Conditions = tc.conditions
			if diff := cmp.Diff(tc.want, b.Read(g, objs)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
