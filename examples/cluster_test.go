//go:build cluster

package examples_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

func TestExamplesPassTheAPIServer(t *testing.T) {
	c := client.WithFieldValidation(apitest.Start(t, ".."), "Strict")
	objects, err := apitest.Objects(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		t.Run(o.Path+"/"+o.GetName(), func(t *testing.T) {
			if namespaced, err := c.IsObjectNamespaced(o.Unstructured); err != nil {
				t.Fatal(err)
			} else if namespaced && o.GetNamespace() == "" {
				o.SetNamespace("default")
			}
			if err := c.Create(t.Context(), o.Unstructured, client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}
