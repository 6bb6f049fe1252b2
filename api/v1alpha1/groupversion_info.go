// Package v1alpha1 is the TrainingJob API, mlplatform.example.com/v1alpha1: what an ML engineer writes in
// YAML, and what `kubectl get tj` shows of it.
//
// It holds types, validation markers and the vocabulary of reasons, labels and annotations. It has no
// behavior beyond accessors, and imports nothing of this module.
//
// +kubebuilder:object:generate=true
// +groupName=mlplatform.example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "mlplatform.example.com", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &TrainingJob{}, &TrainingJobList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
})

// AddToScheme registers the types of this package.
var AddToScheme = schemeBuilder.AddToScheme
