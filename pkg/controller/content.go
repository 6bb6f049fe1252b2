package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// annotationApplied holds a hash of what we last applied: a field that we do not want any more is in no comparison of
// what we want with what is there, but it changes the hash.
const annotationApplied = "mlplatform.example.com/applied"

// covers says whether a cached object has everything that we want, by value and by hash.
func covers(have client.Object, want *unstructured.Unstructured) (bool, error) {
	if have.GetAnnotations()[annotationApplied] != want.GetAnnotations()[annotationApplied] {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err != nil {
		return false, fmt.Errorf("encoding %s: %w", have.GetName(), err)
	}
	content = maps.Clone(content) // of an unstructured object it is the cache's own
	// The informers' typed objects do not carry their kind.
	content["apiVersion"], content["kind"] = want.GetAPIVersion(), want.GetKind()
	return contains(content, want.Object), nil
}

// contains says whether have holds everything of want: maps by key, lists element by element.
func contains(have, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !contains(h[k], v) {
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
			if !contains(h[i], w[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}

// dropNulls removes what Go encodes as null: to an apply that would be a value.
func dropNulls(content map[string]any) {
	for k, v := range content {
		switch v := v.(type) {
		case nil:
			delete(content, k)
		case map[string]any:
			dropNulls(v)
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					dropNulls(m)
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
