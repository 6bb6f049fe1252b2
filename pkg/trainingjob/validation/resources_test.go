package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestValidateResources(t *testing.T) {
	list := func(name corev1.ResourceName, q string) corev1.ResourceList {
		return corev1.ResourceList{name: resource.MustParse(q)}
	}
	type requirements = corev1.ResourceRequirements
	for name, c := range map[string]struct {
		reason string
		given  corev1.ResourceRequirements
		want   int
	}{
		"nothing": {"best effort is legal", requirements{}, 0},
		"less than the limit": {
			"burstable", requirements{Requests: list("cpu", "1"), Limits: list("cpu", "2")}, 0,
		},
		"more than the limit": {
			"the API server refuses the pod",
			requirements{Requests: list("cpu", "2"), Limits: list("cpu", "1")}, 1,
		},
		"the same, other unit": {
			"1Gi is 1024Mi", requirements{Requests: list("memory", "1Gi"), Limits: list("memory", "1024Mi")}, 0,
		},
		"GPUs less than limit": {
			"GPUs cannot be overcommitted",
			requirements{Requests: list("nvidia.com/gpu", "1"), Limits: list("nvidia.com/gpu", "2")}, 1,
		},
		"GPUs in limits alone": {
			"requests default to limits", requirements{Limits: list("nvidia.com/gpu", "2")}, 0,
		},
		"half a GPU": {
			"extended resources are whole", requirements{Requests: list("nvidia.com/gpu", "0.5")}, 1,
		},
		"half a CPU":         {"CPUs are shared", requirements{Requests: list("cpu", "500m")}, 0},
		"a negative request": {"means nothing", requirements{Requests: list("cpu", "-1")}, 1},
		"Kubernetes' own names": {
			"not a device plugin's",
			requirements{Requests: list("kubernetes.io/x", "1"), Limits: list("kubernetes.io/x", "2")}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if errs := validateResources(c.given, nil); len(errs) != c.want {
				t.Errorf("%s: want %d errors, got %v", c.reason, c.want, errs)
			}
		})
	}
}
