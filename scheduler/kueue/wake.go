package kueue

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Waker = Backend{}

// NeedsWake implements scheduler.Waker. Kueue watches all that matters to it. A binder may rest although a
// gang fits that Kueue has admitted; the gang then has pods.
func (b Backend) NeedsWake(g scheduler.Gang, objs []client.Object, s scheduler.ClusterState) (string, bool) {
	waker := scheduler.Of(b.binder).Waker
	if waker == nil || !g.HasPods || g.Dispatched {
		return "", false
	}
	return waker.NeedsWake(forBinder(g), objs, s)
}

// WokenBy implements scheduler.Waker.
func (b Backend) WokenBy() schema.GroupVersionKind {
	if waker := scheduler.Of(b.binder).Waker; waker != nil {
		return waker.WokenBy()
	}
	return schema.GroupVersionKind{}
}
