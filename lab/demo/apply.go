package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner owns the fields that the demo applies.
const fieldOwner = client.FieldOwner("localcluster-demo")

// apply applies every object of a YAML file (server-side). Namespaced objects that name no namespace go
// into the given one.
func apply(ctx context.Context, c client.Client, path, namespace string) error {
	objects, err := readObjects(path)
	if err != nil {
		return err
	}
	for _, object := range objects {
		namespaced, err := c.IsObjectNamespaced(object)
		if err != nil {
			return fmt.Errorf("applying %s: %w", path, err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner,
			client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s of %s: %w", object.GetKind(), object.GetName(), path, err)
		}
	}
	return nil
}

// applyAll applies the YAML files of a folder, except those named.
func applyAll(ctx context.Context, c client.Client, folder, namespace string, except ...string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", folder, err)
	}
	for _, file := range files {
		if slices.Contains(except, filepath.Base(file)) {
			continue
		}
		if err := apply(ctx, c, file, namespace); err != nil {
			return err
		}
	}
	return nil
}

// readObjects reads the documents of a YAML file and drops empty ones.
func readObjects(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const bufferSize = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(file, bufferSize)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
