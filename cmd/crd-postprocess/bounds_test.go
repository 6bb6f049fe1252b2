package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestBounds(t *testing.T) {
	list := func(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }
	fresh := func() schema {
		return object(map[string]any{
			"args":  list(text("")),
			"a":     object(map[string]any{"values": list(text(""))}),
			"b":     object(map[string]any{"values": list(map[string]any{"type": "integer"})}),
			"map":   map[string]any{"type": "object", "additionalProperties": text("")},
			"mode":  map[string]any{"type": "string", "enum": []any{"x"}},
			"known": map[string]any{"type": "string", "maxLength": int64(3)},
		})
	}
	s := fresh()
	b := bounds{
		Items:      map[string]int64{"default": 1, "values": 2, "a.values": 3},
		Properties: map[string]int64{"default": 4},
		Lengths:    map[string]int64{"default": 5, "args[]": 6, "map.*": 7},
	}
	if err := b.addTo(s); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	collect("", s, got)
	want := map[string]any{
		".args maxItems": int64(1), ".args[] maxLength": int64(6),
		".a.values maxItems": int64(3), ".a.values[] maxLength": int64(5),
		".b.values maxItems": int64(2),
		".map maxProperties": int64(4), ".map.* maxLength": int64(7),
		".known maxLength": int64(3),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	b.Items["gone"] = 1
	if err := b.addTo(fresh()); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a bound of no field must be an error, got %v", err)
	}
	delete(b.Items, "gone")
	delete(b.Lengths, "default")
	if err := b.addTo(fresh()); err == nil || !strings.Contains(err.Error(), "no default") {
		t.Errorf("a table without a default must be an error, got %v", err)
	}
}

// collect lists the bounds of a schema by path.
func collect(path string, node map[string]any, into map[string]any) {
	for _, keyword := range []string{"maxItems", "maxProperties", "maxLength"} {
		if most, ok := node[keyword]; ok {
			into[path+" "+keyword] = most
		}
	}
	properties, _ := node["properties"].(map[string]any)
	for name, child := range properties {
		collect(path+"."+name, child.(map[string]any), into)
	}
	for suffix, child := range map[string]any{"[]": node["items"], ".*": node["additionalProperties"]} {
		if child, ok := child.(map[string]any); ok {
			collect(path+suffix, child, into)
		}
	}
}

// TestWhatUsersWriteIsBounded: one job must not take the operator's memory.
func TestWhatUsersWriteIsBounded(t *testing.T) {
	spec := generatedSchema(t).Properties["spec"]
	visit("spec", &spec, func(path string, s *apiextensionsv1.JSONSchemaProps) bool {
		isMap := s.AdditionalProperties != nil
		switch {
		case s.Type == "array" && s.MaxItems == nil, isMap && s.MaxProperties == nil,
			s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0:
			t.Errorf("%s has no bound", path)
		}
		return true
	})
}
