package schedulertest

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// document returns a value as JSON, with the keys of its maps sorted.
func document(value any) string {
	raw, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// scribble changes an object in place where it may share memory with the gang.
func scribble(o client.Object) {
	if labels := o.GetLabels(); labels != nil {
		labels["scribble"] = "x"
		o.SetLabels(labels)
	}
	if owners := o.GetOwnerReferences(); len(owners) > 0 && owners[0].Controller != nil {
		*owners[0].Controller = false
	}
}

// zeroOf returns an empty object of the same type.
func zeroOf(o client.Object) client.Object {
	if u, ok := o.(*unstructured.Unstructured); ok {
		zero := &unstructured.Unstructured{}
		zero.SetGroupVersionKind(u.GroupVersionKind())
		return zero
	}
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
}
