package chart

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// objects by kind, namespace and name.
type objects map[string]*unstructured.Unstructured

func keyOf(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
}

// add the documents of a text. One that is there already is an error: two owners would fight for it.
func (all objects) add(t *testing.T, text string) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := keyOf(o)
		if all[key] != nil {
			t.Errorf("%s occurs twice", key)
		}
		all[key] = o
	}
}

func (all objects) keys() []string { return slices.Sorted(maps.Keys(all)) }

// find the only object of a kind and name.
func (all objects) find(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects are a %s %s, of %q", len(found), kind, name, all.keys())
	}
	return found[0]
}

func parse(t *testing.T, text string) objects {
	t.Helper()
	all := objects{}
	all.add(t, text)
	return all
}

// kustomized is what kustomize builds of folders, and what is in files beside them.
func kustomized(t *testing.T, paths ...string) objects {
	t.Helper()
	all := objects{}
	for _, path := range paths {
		path = repository + "/deploy/" + path
		var text string
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			if text, err = run(t, "kustomize", "build", path); err != nil {
				t.Fatal(err)
			}
		} else {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		all.add(t, text)
	}
	return all
}
