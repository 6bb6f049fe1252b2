package coscheduling

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Waker = Backend{}

// NeedsWake implements scheduler.Waker. Coscheduling rejects ranks because another rank of the gang found no
// node or the group backed off. Such ranks get events of created pods and changed groups (coscheduling.go,
// EventsToRegister), but not of pods that end. kube-scheduler tries them again by itself after
// podMaxInUnschedulablePodsDuration, five minutes (scheduler.go, defaultPodMaxInUnschedulablePodsDuration).
func (Backend) NeedsWake(g scheduler.Gang, _ []client.Object, _ scheduler.ClusterState) (string, bool) {
	if len(judging(g.UnschedulableMessages)) == 0 && !asleep(g.UnschedulableMessages) {
		return "", false
	}
	return "the scheduler rests after it has rejected the gang: by itself it tries again within 5 minutes", true
}

// WokenBy implements scheduler.Waker.
func (Backend) WokenBy() schema.GroupVersionKind { return podGroupKind }
