package kueue

import (
	"slices"

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
	g.Queue, g.ClusterObjects = "", nil
	g.JobLabels = withoutKey(g.JobLabels, QueueLabel)
	return g
}

// find returns the Workload of the gang's current spec, or nil. Those of former specs say nothing about it.
func find(g scheduler.Gang, objs []client.Object) *kueuev1beta2.Workload {
	name := WorkloadName(g)
	i := slices.IndexFunc(objs, func(o client.Object) bool {
		wl, ok := o.(*kueuev1beta2.Workload)
		return ok && wl != nil && wl.Name == name
	})
	if i < 0 {
		return nil
	}
	return objs[i].(*kueuev1beta2.Workload)
}
