package volcano

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Waker = Backend{}

// maxWoken is how often the operator changes an attempt's ranks. After that, Volcano's messages reflect its
// current state.
const maxWoken = 2

// NeedsWake implements scheduler.Waker. Volcano tries every gang in every session, but with the counts from
// when it last received each rank. For a claim that was not bound then it counts a volume of the CSI driver
// that its storage class names (cache/event_handlers.go, getPodCSIVolumes). If the provisioner is not a CSI
// driver, no node has capacity for such a volume, and Volcano counts the claim's real volume only after the
// rank changes. One change is enough; the second is for a claim whose binding Volcano received only after the
// first.
func (Backend) NeedsWake(g scheduler.Gang, objs []client.Object, s scheduler.ClusterState) (string, bool) {
	group := find(g, objs)
	if !g.HasPods || group == nil || unschedulable(group) == nil || len(s.Claims) == 0 || g.Woken >= maxWoken {
		return "", false
	}
	return "Volcano counts volumes that were not bound when it saw the ranks, until the ranks change", true
}

// WokenBy implements scheduler.Waker.
func (Backend) WokenBy() schema.GroupVersionKind { return scheduler.PodKind }
