package kueue

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Objects implements scheduler.Backend: the Workload, then the binder's objects. It returns an error when the
// priority class that the job names does not exist. Kueue rejects a class without its number, and without
// both the gang would queue at another priority than the user asked for.
func (b Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	wl, err := workloadOf(g)
	if err != nil {
		return nil, err
	}
	objs := []client.Object{wl}
	if b.binder != nil && !g.Dispatched {
		bound, err := b.binder.Objects(forBinder(g))
		if err != nil {
			return nil, err
		}
		objs = append(objs, bound...)
	}
	return objs, nil
}

// workloadOf returns the gang's Workload, or what the job owns of a prebuilt one.
func workloadOf(g scheduler.Gang) (*kueuev1beta2.Workload, error) {
	if prebuiltName(g) != "" {
		return adoptedWorkload(g), nil
	}
	return newWorkload(g)
}

// forBinder returns the gang without what only Kueue handles: binders know no queue.
func forBinder(g scheduler.Gang) scheduler.Gang {
	g.Queue, g.Within, g.ClusterObjects, g.Existing = "", "", nil, nil
	g.JobLabels = withoutKey(g.JobLabels, QueueLabel)
	return g
}
