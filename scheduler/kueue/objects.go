package kueue

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Objects implements scheduler.Backend: the Workload, then the binder's objects. It returns an error when the
// priority class that the job names does not exist. Kueue rejects a class without its number, and without
// both the gang would queue at another priority than the user asked for.
func (b Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	wl, err := newWorkload(g)
	if err != nil {
		return nil, err
	}
	objs := []client.Object{wl}
	if b.binder != nil {
		bound, err := b.binder.Objects(forBinder(g))
		if err != nil {
			return nil, err
		}
		objs = append(objs, bound...)
	}
	return objs, nil
}

// forBinder returns the gang without what only Kueue handles: binders know no queue.
func forBinder(g scheduler.Gang) scheduler.Gang {
	g.Queue, g.ClusterObjects, g.Existing = "", nil, nil
	g.JobLabels = withoutKey(g.JobLabels, QueueLabel)
	return g
}
