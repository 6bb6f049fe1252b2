package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// AnnotationApplied holds a hash of what we last applied. A field that is no longer wanted is invisible to a
// comparison of what is wanted with what exists, but it changes the hash.
const AnnotationApplied = "mlplatform.example.com/applied"

// DesiredContent returns an object as it is sent: with its kind, owner and hash, without status.
func DesiredContent(
	obj client.Object, gvk schema.GroupVersionKind, job *v1alpha1.TrainingJob,
) (*unstructured.Unstructured, error) {
	obj = obj.DeepCopyObject().(client.Object)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(job, JobKind)})
	labels := maps.Clone(obj.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelJobName] = job.Name // our caches hold only what carries it
	obj.SetLabels(labels)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	DropNulls(content)
	hash, err := hashOf(content)
	if err != nil {
		return nil, err
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationApplied] = hash
	u.SetAnnotations(annotations)
	return u, nil
}

// HasDrifted reports whether a cached object lacks something that is wanted, by value or by hash.
func HasDrifted(have client.Object, want *unstructured.Unstructured) (bool, error) {
	if have.GetAnnotations()[AnnotationApplied] != want.GetAnnotations()[AnnotationApplied] {
		return true, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err != nil {
		return false, fmt.Errorf("encoding %s: %w", have.GetName(), err)
	}
	content = maps.Clone(content) // the content of an unstructured object is the cache's own
	// The informers' typed objects do not carry their kind.
	content["apiVersion"], content["kind"] = want.GetAPIVersion(), want.GetKind()
	return !ContainsFields(content, want.Object), nil
}

// ContainsFields reports whether have contains everything of want: maps by key, lists element by element. An
// empty map or list equals an absent one.
func ContainsFields(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !ContainsFields(h[k], v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !ContainsFields(h[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}

// DropNulls removes what Go encodes as null, which an apply takes for a value.
func DropNulls(content map[string]any) {
	for k, v := range content {
		switch v := v.(type) {
		case nil:
			delete(content, k)
		case map[string]any:
			DropNulls(v)
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					DropNulls(m)
				}
			}
		}
	}
}

func hashOf(content map[string]any) (string, error) {
	data, err := json.Marshal(content) // sorts the keys
	if err != nil {
		return "", fmt.Errorf("hashing what is applied: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
