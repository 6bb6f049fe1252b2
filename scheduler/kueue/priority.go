package kueue

import (
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// class of a gang's priority: a WorkloadPriorityClass by the job's label, else the PriorityClass of the gang, else that of
// the first role whose pods name one (pkg/controller/jobframework/reconciler.go, ExtractPriority).
func class(g scheduler.Gang) *kueuev1beta2.PriorityClassRef {
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

// classKey is what of the class may not change while quota is reserved (the validation rules of the Workload's CRD): whether
// there is one, of what kind, and the name of a PriorityClass.
type classKey struct{ Kind, Name string }

func classKeyOf(g scheduler.Gang) classKey {
	ref := class(g)
	switch {
	case ref == nil:
		return classKey{}
	case ref.Group == kueuev1beta2.WorkloadPriorityClassGroup:
		return classKey{Kind: string(ref.Kind)}
	}
	return classKey{Kind: string(ref.Kind), Name: ref.Name}
}

// priority is the class and its number. Kueue resolves it for its own job integrations alone; for a Workload of somebody
// else a class without a number is refused by the CRD. A job without a class gets the number of the cluster's default class
// and no reference: that one may change without the job's doing, and a reference may not be taken away again.
func priority(g scheduler.Gang) (*kueuev1beta2.PriorityClassRef, *int32, error) {
	ref := class(g)
	if ref == nil {
		return nil, defaultPriority(g.ClusterObjects), nil
	}
	value := valueOf(ref, g.ClusterObjects)
	if value == nil {
		return nil, nil, fmt.Errorf("resolving the priority: there is no %s %q: create it, or name one that exists (kubectl get %s)",
			ref.Kind, ref.Name, resourceOf(ref))
	}
	return ref, value, nil
}

func resourceOf(ref *kueuev1beta2.PriorityClassRef) string {
	if ref.Group == kueuev1beta2.WorkloadPriorityClassGroup {
		return "workloadpriorityclasses.kueue.x-k8s.io"
	}
	return "priorityclasses"
}

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

// defaultPriority is that of the cluster's default PriorityClass, of several the lowest (pkg/util/priority).
func defaultPriority(objs []client.Object) *int32 {
	var value *int32
	for _, o := range objs {
		if c, ok := o.(*schedulingv1.PriorityClass); ok && c != nil && c.GlobalDefault && (value == nil || c.Value < *value) {
			value = new(c.Value)
		}
	}
	return value
}
