package volcano

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Waker = Backend{}

// maxWoken is how often an attempt's ranks are changed at most. What Volcano says after that it says of what
// it knows now.
const maxWoken = 2

// NeedsWake implements scheduler.Waker. Volcano tries every gang in every session, but by what it counted
// when it saw each rank last: for a claim that was not bound then it counts a volume of the CSI driver that
// its storage class names (cache/event_handlers.go, getPodCSIVolumes). A provisioner that is no CSI driver
// has no node with room for such a volume, and the claim's own volume, which is none, is seen only when the
// rank changes. One change is enough; the second is for a claim that Volcano saw bound only after the
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
