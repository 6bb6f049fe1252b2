package coscheduling

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Rester = Backend{}

// Rests implements scheduler.Rester. Ranks that Coscheduling alone has rejected, because another rank of the
// gang found no node or the group backed off, hear of pods that are created and of groups that change
// (coscheduling.go, EventsToRegister), not of pods that end. kube-scheduler tries them again by itself after
// podMaxInUnschedulablePodsDuration, five minutes (scheduler.go, defaultPodMaxInUnschedulablePodsDuration).
func (Backend) Rests(g scheduler.Gang, _ []client.Object, _ scheduler.ClusterState) (string, bool) {
	if len(judging(g.UnschedulableMessages)) == 0 && !asleep(g.UnschedulableMessages) {
		return "", false
	}
	return "the scheduler rests after it has rejected the gang: by itself it looks again within 5 minutes", true
}

// WokenBy implements scheduler.Rester.
func (Backend) WokenBy() schema.GroupVersionKind { return podGroupKind }
