package volcano_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

func TestQueueLimits(t *testing.T) {
	const open = schedulingv1beta1.QueueStateOpen
	lends := queue("lends", "", open, "16", "4")
	lends.Spec.Deserved = corev1.ResourceList{gpu: resource.MustParse("8")}
	gpus := func(n int64) scheduler.Amounts { return scheduler.Amounts{gpu: n} }
	none := scheduler.QueueLimit{
		Name: "root", Key: "volcano/root", Limit: scheduler.Amounts{}, Free: scheduler.Amounts{},
	}
	kind := schedulingv1beta1.SchemeGroupVersion.WithKind("Queue")
	state := scheduler.ClusterState{Objects: map[schema.GroupVersionKind][]client.Object{kind: {
		root("", ""), queue("default", "", open, "8", "12"), queue("team", "", open, "16", "4"),
		queue("research", "team", open, "12", "4"), queue("closed", "", schedulingv1beta1.QueueStateClosed, "", ""),
		lends,
	}}}
	for name, tc := range map[string]struct {
		reason string
		queue  string
		want   []scheduler.QueueLimit
	}{
		"default": {
			reason: "a queue that holds more than its capability has nothing free",
			want: []scheduler.QueueLimit{
				{Name: "default", Key: "volcano/default", Limit: gpus(8), Free: gpus(0)}, none,
			},
		},
		"nested": {
			reason: "the queue above limits its queues together", queue: "research",
			want: []scheduler.QueueLimit{
				{Name: "research", Key: "volcano/research", Limit: gpus(12), Free: gpus(8)},
				{Name: "team", Key: "volcano/team", Limit: gpus(16), Free: gpus(12)}, none,
			},
		},
		"deserved": {
			reason: "Volcano takes back what the queue has lent", queue: "lends",
			want: []scheduler.QueueLimit{
				{Name: "lends", Key: "volcano/lends", Limit: gpus(16), Free: gpus(12), Reclaims: true}, none,
			},
		},
		"closed":  {reason: "it starts no jobs", queue: "closed"},
		"missing": {reason: "nothing is known of it", queue: "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := volcano.New(volcano.Options{}).QueueLimits(scheduler.Gang{Queue: tc.queue}, state)
			if diff := cmp.Diff(tc.want, got); diff != "" || known != (tc.want != nil) {
				t.Errorf("%s, known %t (-want +got):\n%s", tc.reason, known, diff)
			}
		})
	}
	backend := volcano.New(volcano.Options{})
	if _, known := backend.QueueLimits(scheduler.Gang{}, scheduler.ClusterState{}); known {
		t.Error("the limits are known without the queues")
	}
}
