package kueue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

func TestQueueLimits(t *testing.T) {
	cohort := func(q *kueuev1beta2.ClusterQueue) { q.Spec.CohortName = "all" }
	none, hold := kueuev1beta2.None, kueuev1beta2.Hold
	locals := []client.Object{
		localQueue("team", "alone", "alone", none), localQueue("team", "lends", "lends", none),
		localQueue("team", "two", "two", none), localQueue("team", "stopped", "alone", hold),
		localQueue("team", "lost", "lost", none),
	}
	clusters := []client.Object{
		clusterQueue("alone", has("h100", "8", "6"), strict(2)),
		clusterQueue("lends", has("h100", "8", "12"), cohort),
		clusterQueue("two", has("h100", "8", "6"), func(q *kueuev1beta2.ClusterQueue) {
			first := &q.Spec.ResourceGroups[0]
			first.Flavors = append(first.Flavors, first.Flavors[0])
			first.Flavors[1].Name = "a100"
		}),
	}
	state := scheduler.ClusterState{Objects: map[schema.GroupVersionKind][]client.Object{
		kueuev1beta2.SchemeGroupVersion.WithKind("LocalQueue"):   locals,
		kueuev1beta2.SchemeGroupVersion.WithKind("ClusterQueue"): clusters,
	}}
	gpus := func(n int64) scheduler.Amounts { return scheduler.Amounts{gpu: n} }
	for name, want := range map[string]*scheduler.QueueLimit{
		"alone":   {Name: "alone", Key: "kueue/alone", Limit: gpus(8), Free: gpus(2), Strict: true},
		"lends":   {Name: "lends", Key: "kueue/lends", Limit: gpus(8), Free: gpus(0), Lends: true},
		"two":     {Name: "two", Key: "kueue/two", Limit: gpus(16), Free: gpus(10), Lends: true},
		"stopped": nil, "lost": nil, "missing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			got, known := kueue.New(kueue.Options{}).QueueLimits(scheduler.Gang{Namespace: "team", Queue: name}, state)
			if known != (want != nil) {
				t.Fatalf("known is %t", known)
			}
			if want != nil {
				if diff := cmp.Diff([]scheduler.QueueLimit{*want}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}
