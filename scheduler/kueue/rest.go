package kueue

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Rester = Backend{}

// Rests implements scheduler.Rester. Kueue itself hears of all that matters to it; a binder may rest beside
// room for a gang that Kueue has admitted, which has pods only then.
func (b Backend) Rests(g scheduler.Gang, objs []client.Object, s scheduler.ClusterState) (string, bool) {
	rester, ok := b.binder.(scheduler.Rester)
	if !ok || !g.HasPods || g.Dispatched {
		return "", false
	}
	return rester.Rests(forBinder(g), objs, s)
}

// WokenBy implements scheduler.Rester.
func (b Backend) WokenBy() schema.GroupVersionKind {
	if rester, ok := b.binder.(scheduler.Rester); ok {
		return rester.WokenBy()
	}
	return schema.GroupVersionKind{}
}
