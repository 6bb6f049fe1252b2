package memory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var (
	// JobKind is the kind of every controlling owner that counts here.
	JobKind     = v1alpha1.GroupVersion.WithKind("TrainingJob")
	PodKind     = scheduler.PodKind
	ServiceKind = corev1.SchemeGroupVersion.WithKind("Service")
	// SliceKind has the addresses that a Service without a selector leads to.
	SliceKind = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	ClaimKind = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")

	SecretKind    = corev1.SchemeGroupVersion.WithKind("Secret")
	ConfigMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// OwnerUID returns the UID of the TrainingJob that controls an object; false: none does.
func OwnerUID(obj client.Object) (types.UID, bool) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != JobKind.Kind {
		return "", false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return ref.UID, err == nil && gv.Group == JobKind.Group
}

// OwnerName returns the name of the controlling owner, which must exist.
func OwnerName(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: metav1.GetControllerOfNoCopy(obj).Name}
}

// NewObject returns an empty object of a kind, of the type that the backends and the informers use for it:
// unstructured where the scheme has no type.
func NewObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.Object, error) {
	if !scheme.Recognizes(gvk) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	}
	empty, err := scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", gvk.Kind, err)
	}
	obj, ok := empty.(client.Object)
	if !ok {
		return nil, fmt.Errorf("making a %s: %T is no object", gvk.Kind, empty)
	}
	return obj, nil
}

// TypedObject converts what the API server answered to the type that NewObject uses.
func TypedObject(
	scheme *runtime.Scheme, gvk schema.GroupVersionKind, answer *unstructured.Unstructured,
) (client.Object, error) {
	obj, err := NewObject(scheme, gvk)
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = answer.Object
		return obj, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, obj); err != nil {
		return nil, fmt.Errorf("reading the answer for %s %s: %w", gvk.Kind, answer.GetName(), err)
	}
	return obj, nil
}

// NewList returns an empty list of a kind that is in the scheme.
func NewList(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.ObjectList, error) {
	kind := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	empty, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", kind.Kind, err)
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("making a %s: %T is no list", kind.Kind, empty)
	}
	return list, nil
}
