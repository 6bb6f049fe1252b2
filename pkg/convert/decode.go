package convert

import (
	"encoding/json"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// decode reads a document into the type of its source. Fields that the type does not have are warnings. Where
// a value has the wrong type, the error names the field, and decode returns nil.
func decode[T any](r *report, doc Document) *T {
	into := new(T)
	unknown, err := kjson.UnmarshalStrict(doc.raw, into)
	if err != nil {
		path, cause := locate[T](doc.tree, err)
		r.fail(path, "%v", cause)
		return nil
	}
	for _, strict := range unknown {
		var at kjson.FieldError
		if !errors.As(strict, &at) {
			r.warn(nil, "%v", strict)
			continue
		}
		r.warn(field.NewPath(at.FieldPath()), "is no field of this kind of job: it is left out")
	}
	return into
}

// maxLeaves bounds the search of locate.
const maxLeaves = 20000

// locate finds the field whose value cannot be read: types that read themselves, such as quantities, report
// an error without a path. It decodes one leaf of the document after another, each alone.
func locate[T any](tree map[string]any, whole error) (*field.Path, error) {
	var at *field.Path
	cause, left := whole, maxLeaves
	var visit func(value any, path *field.Path, wrap func(any) any) bool
	visit = func(value any, path *field.Path, wrap func(any) any) bool {
		switch value := value.(type) {
		case map[string]any:
			if len(value) > 0 {
				for _, key := range sortedKeys(value) {
					inner := func(v any) any { return wrap(map[string]any{key: v}) }
					if visit(value[key], child(path, key), inner) {
						return true
					}
				}
			}
		case []any:
			for i, element := range value {
				inner := func(v any) any { return wrap([]any{v}) }
				if visit(element, path.Index(i), inner) {
					return true
				}
			}
		}
		if left--; left < 0 {
			return true
		}
		raw, err := json.Marshal(wrap(value))
		if err != nil {
			return false
		}
		if _, err := kjson.UnmarshalStrict(raw, new(T)); err != nil {
			at, cause = path, err
			return true
		}
		return false
	}
	visit(tree, nil, func(v any) any { return v })
	return at, cause
}

// child is path.Child for paths that may be empty.
func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
