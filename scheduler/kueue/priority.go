package kueue

import (
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// classOf returns the class that sets a gang's priority, or nil: the WorkloadPriorityClass of the job's
// label, else the gang's PriorityClass, else that of the first role whose pods name one
// (pkg/controller/jobframework/reconciler.go, ExtractPriority).
func classOf(g scheduler.Gang) *kueuev1beta2.PriorityClassRef {
	if name := g.JobLabels[PriorityClassLabel]; name != "" {
		return kueuev1beta2.NewWorkloadPriorityClassRef(name)
	}
	if g.PriorityClass != "" {
		return kueuev1beta2.NewPodPriorityClassRef(g.PriorityClass)
	}
	for _, r := range g.Roles {
		if r.Template != nil && r.Template.Spec.PriorityClassName != "" {
			return kueuev1beta2.NewPodPriorityClassRef(r.Template.Spec.PriorityClassName)
		}
	}
	return nil
}

// classKey is what may not change about the class while quota is reserved (the validation rules of the
// Workload's CRD): whether there is one, its kind, and the name of a PriorityClass. It is part of the name of
// a new Workload.
type classKey struct{ Kind, Name string }

func classKeyOf(g scheduler.Gang) classKey {
	ref := classOf(g)
	switch {
	case ref == nil:
		return classKey{}
	case ref.Group == kueuev1beta2.WorkloadPriorityClassGroup:
		return classKey{Kind: string(ref.Kind)}
	}
	return classKey{Kind: string(ref.Kind), Name: ref.Name}
}

// priorityOf returns the class and its number for a new Workload, or for the current one, which may be nil.
// Kueue resolves the number only for its own job integrations; the CRD rejects any other Workload that has a
// class without a number. A job without a class gets the number of the cluster's default class but no
// reference to it: the default may change without the job, and a reference cannot be removed again. An error
// means that the class does not exist.
//
// The number is resolved only when the job's class changes, as in Kueue's own integrations (jobframework,
// classifyWorkloadsForPriorityUpdate): an admin may set another on the Workload, and later changes of a class
// do not affect a gang that has its number.
func priorityOf(
	g scheduler.Gang, before *kueuev1beta2.Workload,
) (*kueuev1beta2.PriorityClassRef, *int32, error) {
	ref := classOf(g)
	if before != nil && (equality.Semantic.DeepEqual(ref, before.Spec.PriorityClassRef) ||
		isSettled(before) && !mayFollow(before.Spec.PriorityClassRef, ref)) {
		kept := before.Spec.DeepCopy()
		return kept.PriorityClassRef, kept.Priority, nil
	}
	if ref == nil {
		return nil, defaultPriority(g.ClusterObjects), nil
	}
	value := valueOf(ref, g.ClusterObjects)
	if value == nil {
		return nil, nil, fmt.Errorf("resolving the priority: there is no %s %q: create it, or name one "+
			"that exists (kubectl get %s)",
			ref.Kind, ref.Name, resourceOf(ref))
	}
	return ref, value, nil
}

// mayFollow reports whether a class may replace another while the Workload is settled: only a
// WorkloadPriorityClass can replace another one.
func mayFollow(before, after *kueuev1beta2.PriorityClassRef) bool {
	return before != nil && after != nil && before.Group == kueuev1beta2.WorkloadPriorityClassGroup &&
		after.Group == before.Group
}

func resourceOf(ref *kueuev1beta2.PriorityClassRef) string {
	if ref.Group == kueuev1beta2.WorkloadPriorityClassGroup {
		return "workloadpriorityclasses.kueue.x-k8s.io"
	}
	return "priorityclasses"
}

// valueOf returns the number of a class, or nil when the class does not exist.
func valueOf(ref *kueuev1beta2.PriorityClassRef, objs []client.Object) *int32 {
	for _, o := range objs {
		switch c := o.(type) {
		case *kueuev1beta2.WorkloadPriorityClass:
			if c != nil && ref.Group == kueuev1beta2.WorkloadPriorityClassGroup && c.Name == ref.Name {
				return new(c.Value)
			}
		case *schedulingv1.PriorityClass:
			if c != nil && ref.Group == kueuev1beta2.PodPriorityClassGroup && c.Name == ref.Name {
				return new(c.Value)
			}
		}
	}
	return nil
}

// defaultPriority returns the number of the cluster's default PriorityClass, the lowest if there are several,
// or nil (pkg/util/priority).
func defaultPriority(objs []client.Object) *int32 {
	var value *int32
	for _, o := range objs {
		c, ok := o.(*schedulingv1.PriorityClass)
		if ok && c != nil && c.GlobalDefault && (value == nil || c.Value < *value) {
			value = new(c.Value)
		}
	}
	return value
}
