package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// CacheOptions returns options that keep the manager's caches small: of everything but jobs and nodes they
// hold only what carries our label, and of each object only what decisions need. With namespaces they hold
// what is in these, and cluster-scoped objects.
func CacheOptions(namespaces ...string) cache.Options {
	ours, err := labels.NewRequirement(v1alpha1.LabelJobName, selection.Exists, nil)
	if err != nil {
		panic(err) // a constant label
	}
	var within map[string]cache.Config
	for _, name := range namespaces {
		if within == nil { // an empty map would be none instead of all
			within = map[string]cache.Config{}
		}
		within[name] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:    within,
		DefaultLabelSelector: labels.NewSelector().Add(*ours),
		DefaultTransform:     transformOther,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.TrainingJob{}: {Label: labels.Everything(), Transform: transformJob},
			&corev1.Node{}:          {Label: labels.Everything(), Transform: transformNode},
			&corev1.Pod{}:           {Transform: transformPod},
		},
	}
}

// transformJob drops kubectl's copy of the spec. A patch of the status is computed from two trimmed
// objects, so it does not touch that annotation.
func transformJob(in any) (any, error) {
	if job, ok := in.(*v1alpha1.TrainingJob); ok {
		job.ManagedFields = nil
		memory.DropAnnotation(job.Annotations, corev1.LastAppliedConfigAnnotation)
		memory.Share(job)
	}
	return in, nil
}

// transformOther drops the managed fields, and shares the memory of equal parts.
func transformOther(in any) (any, error) {
	if o, ok := in.(client.Object); ok {
		o.SetManagedFields(nil)
		memory.Share(o)
	}
	return in, nil
}

// transformNode keeps whether a node is ready, and what decides which pods fit on it.
func transformNode(in any) (any, error) {
	node, ok := in.(*corev1.Node)
	if !ok {
		return in, nil
	}
	trimmed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
	}}
	trimmed.Spec.Unschedulable, trimmed.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	trimmed.Status.Allocatable = node.Status.Allocatable
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// Without the heartbeat, which would make every update a change.
			trimmed.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return trimmed, nil
}

func transformPod(in any) (any, error) {
	if pod, ok := in.(*corev1.Pod); ok {
		memory.TrimPod(pod)
		memory.Share(pod)
	}
	return in, nil
}
