package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is one OpenAPI schema of the CRD, as YAML decodes it.
type schema map[string]any

// at returns the schema at a dotted path; "*" stands for the values of a map, and "[]" for the elements of a
// list.
func (s schema) at(path string) (schema, error) {
	if path == "" {
		return s, nil
	}
	name, rest, _ := strings.Cut(path, ".")
	var next any
	switch properties, _ := s["properties"].(map[string]any); name {
	case "*":
		next = s["additionalProperties"]
	case "[]":
		next = s["items"]
	default:
		next = properties[name]
	}
	child, ok := next.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no field %s", name)
	}
	return schema(child).at(rest)
}

// groups are fields of which every field has a rule of its own on what may change when.
var groups = []string{"checkpoint", "runPolicy", "schedulingPolicy"}

// leaves lists the paths of a schema's fields in order. The fields of a group stand for it.
func (s schema) leaves(prefix string) []string {
	properties, _ := s["properties"].(map[string]any)
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		field, _ := properties[name].(map[string]any)
		if slices.Contains(groups, name) {
			paths = append(paths, schema(field).leaves(prefix+name+".")...)
			continue
		}
		paths = append(paths, prefix+name)
	}
	return paths
}

// addValidation appends one entry to the schema's x-kubernetes-validations.
func (s schema) addValidation(entry map[string]any) {
	list, _ := s["x-kubernetes-validations"].([]any)
	s["x-kubernetes-validations"] = append(list, entry)
}

// dropDescriptionsBelow keeps the schema's own description and drops those of everything below it.
func (s schema) dropDescriptionsBelow() {
	for _, child := range s {
		dropDescriptions(child)
	}
}

func dropDescriptions(node any) {
	switch node := node.(type) {
	case map[string]any:
		// A field may itself be called description: only a text is one.
		if _, ok := node["description"].(string); ok {
			delete(node, "description")
		}
		for _, child := range node {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range node {
			dropDescriptions(child)
		}
	}
}
