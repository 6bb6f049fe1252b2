package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key of a configuration. Its default is empty if there is none.
type key struct{ path, typ, value, comment string }

// fieldName matches the field's name and verb at the start of a doc comment.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9]+ (is|are) `)

// line of the list of keys.
func (k key) line() string {
	text := strings.Join(strings.Fields(fieldName.ReplaceAllString(k.comment, "")), " ")
	text = strings.ReplaceAll(strings.ToUpper(text[:1])+text[1:], "<", "&lt;")
	if k.value != "" {
		k.typ += ", default " + k.value
	}
	return fmt.Sprintf("- `%s` (%s): %s", k.path, k.typ, text)
}

// keys lists the keys of a struct and of the structs in it, in the order of their fields. Keys of the objects
// in a list are below "list[]", those in a map below "map.*"; they have no defaults.
func keys(v reflect.Value, prefix string, docs *comments) ([]key, error) {
	var rows []key
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous { // its keys are the outer object's
			inner, err := keys(v.Field(i), prefix, docs)
			if err != nil {
				return nil, err
			}
			rows = append(rows, inner...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			return nil, fmt.Errorf("%s.%s has no json name", v.Type().Name(), field.Name)
		}
		comment, err := docs.of(v.Type(), field.Name)
		if err != nil {
			return nil, err
		}
		added, err := keysOf(v.Field(i), prefix+name, comment, docs)
		if err != nil {
			return nil, err
		}
		rows = append(rows, added...)
	}
	return rows, nil
}

// keysOf one field: its own row, and those of what it holds.
func keysOf(v reflect.Value, path, comment string, docs *comments) ([]key, error) {
	typ, err := typeName(v.Type())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	row := key{path, typ, defaultOf(v), comment}
	held, below := objectsIn(v)
	if !held.IsValid() {
		return []key{row}, nil
	}
	inner, err := keys(held, path+below+".", docs)
	if err != nil {
		return nil, err
	}
	return append([]key{row}, inner...), nil
}

// objectsIn a value: the struct whose keys are documented, and how its path goes on. Invalid: there is none.
func objectsIn(v reflect.Value) (held reflect.Value, below string) {
	t := v.Type()
	switch {
	case named(t) != "":
		return reflect.Value{}, ""
	case t.Kind() == reflect.Struct:
		return v, ""
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && named(t.Elem()) == "":
		if v.IsNil() {
			return reflect.Zero(t.Elem()), ""
		}
		return v.Elem(), ""
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && named(t.Elem()) == "":
		return reflect.Zero(t.Elem()), "[]"
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct && named(t.Elem()) == "":
		return reflect.Zero(t.Elem()), ".*"
	}
	return reflect.Value{}, ""
}

// named are structs that a file writes as one value, or that Kubernetes documents.
func named(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[corev1.Toleration]():
		return "toleration"
	case reflect.TypeFor[metav1.Duration]():
		return "duration"
	}
	return ""
}

func typeName(t reflect.Type) (string, error) {
	if name := named(t); name != "" {
		return name, nil
	}
	switch t.Kind() {
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer", nil
	case reflect.Float64:
		return "number", nil
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		element, err := typeName(t.Elem())
		return "list of " + element + "s", err
	case reflect.Map:
		element, err := typeName(t.Elem())
		return "map of " + element + "s", err
	case reflect.Struct:
		return "object", nil
	}
	return "", fmt.Errorf("the type %s has no name in the documentation", t)
}

// defaultOf writes a default as the file would have it; empty for none.
func defaultOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		return "above"
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return defaultOf(v.Elem())
	case reflect.Struct:
		if duration, ok := v.Interface().(metav1.Duration); ok {
			return code(duration.Duration.String())
		}
		return ""
	case reflect.String:
		if v.String() == "" {
			return ""
		}
		return code(fmt.Sprintf("%q", v.String()))
	}
	return code(fmt.Sprint(v.Interface()))
}
