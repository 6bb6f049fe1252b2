//go:build cluster

package examples_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

func TestExamplesPassTheAPIServer(t *testing.T) {
	cluster := apitest.Start(t, "..", localcluster.SchedulerKueue, localcluster.SchedulerCoscheduling)
	c := client.WithFieldValidation(cluster, "Strict")
	objects, err := apitest.Objects(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"team-a", "team-b"} { // namespaces that examples name
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "resource.nvidia.com" {
			continue // only NVIDIA's driver serves it
		}
		t.Run(o.Path+"/"+o.GetName(), func(t *testing.T) {
			if namespaced, err := c.IsObjectNamespaced(o.Unstructured); err != nil {
				t.Fatal(err)
			} else if namespaced && o.GetNamespace() == "" {
				o.SetNamespace("default")
			}
			err := c.Create(t.Context(), o.Unstructured, client.DryRunAll)
			if apierrors.IsAlreadyExists(err) { // Volcano's queue root
				err = c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o.Unstructured),
					client.FieldOwner("admin"), client.ForceOwnership, client.DryRunAll)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
