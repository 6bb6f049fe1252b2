package coscheduling_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
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
			reason: "a missing message is a delay", hasPods: true, want: scheduler.Verdict{Admission: scheduler.Go},
		},
		"the first pods of a gang": {
			reason: "rejected for missing siblings, not for capacity", hasPods: true,
			messages: []string{siblingless},
			want:     scheduler.Verdict{Admission: scheduler.Go},
		},
		"the first pods of a gang, and the group rests": {
			reason: "this is no judgement either of the gang", hasPods: true,
			messages: []string{siblingless, recently},
			want:     scheduler.Verdict{Admission: scheduler.Go},
		},
		"no capacity": {
			reason: "without the numbers and names that change", hasPods: true,
			messages: []string{away, siblingless, full, recently},
			want: unschedulable(
				"the nodes have no capacity for 4 ranks at once: Insufficient nvidia.com/gpu",
			),
		},
		"sent away only": {
			reason: "the rank that did not fit may be missing", hasPods: true,
			messages: []string{away, apart, late, recently},
			want:     unschedulable("the nodes have no capacity for 4 ranks at once"),
		},
		"several causes": {
			reason: "each once, in a fixed order", hasPods: true, messages: []string{tainted, full},
			want: unschedulable(
				"the nodes have no capacity for 4 ranks at once: Insufficient nvidia.com/gpu, node(s) had " +
					"untolerated taint {a: b}",
			),
		},
		"over the namespace's quota": {
			reason: "a quota comes before nodes: with a larger one the nodes may suffice", hasPods: true,
			messages: []string{away, quota},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "QuotaExceeded",
				Message: "the ElasticQuota of namespace team-a has no capacity for 4 ranks at once: its " +
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
				Message: "the cluster's ElasticQuotas have no capacity for 4 ranks at once: more would be " +
					"used than their min add up to",
				NextStep: "kubectl get elasticquotas -A -o yaml shows min and what is used; every " +
					"resource that the ranks request must be in min",
			},
		},
		"deleted, no pods": {
			reason: "pods must not join a group that is being deleted", deleted: &deleted,
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
