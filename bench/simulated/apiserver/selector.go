package apiserver

import (
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Fields by which objects are selected.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
	fieldNode      = "spec.nodeName"
	fieldPhase     = "status.phase"
)

// selector says which objects of a resource are meant.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// selectorOf a request.
func (r Resource) selectorOf(namespace string, query url.Values) (selector, error) {
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return selector{}, err
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return selector{}, err
	}
	for _, need := range byField.Requirements() {
		pods := r.Plural == "pods" && (need.Field == fieldNode || need.Field == fieldPhase)
		if need.Field != fieldName && need.Field != fieldNamespace && !pods {
			return selector{}, fmt.Errorf("the field %s of %s selects nothing", need.Field, r.Plural)
		}
	}
	return selector{namespace, byLabel, byField}, nil
}

// matches reports whether a version is meant; none is not.
func (s selector) matches(v *version) bool {
	return v != nil && (s.namespace == "" || s.namespace == v.key.namespace) && s.labels.Matches(v.labels) &&
		(s.fields.Empty() || s.fields.Matches(v.fields()))
}

// fields of a version by which it may be selected.
func (v *version) fields() fields.Set {
	return fields.Set{
		fieldName: v.key.name, fieldNamespace: v.key.namespace, fieldNode: v.node, fieldPhase: v.phase,
	}
}

// podFields are the fields of pods that selectors read; those of other objects are empty.
func podFields(obj runtime.Object) (node, phase string) {
	if pod, ok := obj.(*corev1.Pod); ok {
		return pod.Spec.NodeName, string(pod.Status.Phase)
	}
	return "", ""
}
