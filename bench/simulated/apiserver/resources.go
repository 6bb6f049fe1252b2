package apiserver

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Resource is a kind of objects that the server serves.
type Resource struct {
	Kind schema.GroupVersionKind
	// Plural is the kind's name in paths.
	Plural     string
	Namespaced bool
	// Status is true where the status is a subresource.
	Status bool
	// Custom kinds have no protobuf, as those of a CustomResourceDefinition.
	Custom bool
}

// resources are all kinds.
func resources() []Resource {
	core := func(kind, plural string, namespaced, status bool) Resource {
		return Resource{corev1.SchemeGroupVersion.WithKind(kind), plural, namespaced, status, false}
	}
	return []Resource{
		core("Namespace", "namespaces", false, true),
		core("Node", "nodes", false, true),
		core("Pod", "pods", true, true),
		core("Service", "services", true, true),
		core("Event", "events", true, false),
		core("ConfigMap", "configmaps", true, false),
		{discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), "endpointslices", true, false, false},
		{eventsv1.SchemeGroupVersion.WithKind("Event"), "events", true, false, false},
		{coordinationv1.SchemeGroupVersion.WithKind("Lease"), "leases", true, false, false},
		{schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), "priorityclasses", false, false, false},
		{v1alpha1.GroupVersion.WithKind("TrainingJob"), "trainingjobs", true, true, true},
		// Volcano's CustomResourceDefinition of groups has no subresource for the status.
		{schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup"), "podgroups", true, false, true},
		{schedulingv1beta1.SchemeGroupVersion.WithKind("Queue"), "queues", false, true, true},
	}
}

// GVR is the kind as paths name it.
func (r Resource) GVR() schema.GroupVersionResource {
	return r.Kind.GroupVersion().WithResource(r.Plural)
}
