package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// What is refused, with which words, is test/api's: there Validate is held against a real API server, case by
// case.

// TestValidateOrder: the sentence that a user sees in the job's condition must not change from one pass to
// the next.
func TestValidateOrder(t *testing.T) {
	broken := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "a",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("2Gi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
			},
		}},
	}}
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "Job"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: "chainer", Image: "i", BackoffLimit: new(int32(-1)),
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
				"Worker": {Replicas: new(int32(0)), Template: broken}, "Master": {Replicas: new(int32(0)), Template: broken},
				"Boss": {Template: broken},
			},
		},
	}
	container := func(role string) []string {
		at := "spec.replicaSpecs[" + role + "].template.spec.containers[0]."
		return []string{at + "image", at + "resources.requests[cpu]", at + "resources.requests[memory]"}
	}
	want := []string{
		"spec.framework", "spec.image", "spec.replicaSpecs[Master].replicas", "spec.replicaSpecs[Worker].replicas",
		"spec.replicaSpecs", "spec.backoffLimit", "metadata.name",
	}
	for _, role := range []string{"Boss", "Master", "Worker"} {
		want = append(want, container(role)...)
	}
	for range 20 {
		var got []string
		for _, err := range Validate(job) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("fields in order (-want +got):\n%s", diff)
		}
	}
}

func TestValidateResources(t *testing.T) {
	list := func(name corev1.ResourceName, q string) corev1.ResourceList {
		return corev1.ResourceList{name: resource.MustParse(q)}
	}
	for name, c := range map[string]struct {
		reason string
		given  corev1.ResourceRequirements
		want   int
	}{
		"nothing":               {"best effort is legal", corev1.ResourceRequirements{}, 0},
		"less than the limit":   {"burstable", corev1.ResourceRequirements{Requests: list("cpu", "1"), Limits: list("cpu", "2")}, 0},
		"more than the limit":   {"the API server refuses the pod", corev1.ResourceRequirements{Requests: list("cpu", "2"), Limits: list("cpu", "1")}, 1},
		"the same, other unit":  {"1Gi is 1024Mi", corev1.ResourceRequirements{Requests: list("memory", "1Gi"), Limits: list("memory", "1024Mi")}, 0},
		"GPUs less than limit":  {"GPUs cannot be overcommitted", corev1.ResourceRequirements{Requests: list("nvidia.com/gpu", "1"), Limits: list("nvidia.com/gpu", "2")}, 1},
		"GPUs in limits alone":  {"requests default to limits", corev1.ResourceRequirements{Limits: list("nvidia.com/gpu", "2")}, 0},
		"half a GPU":            {"extended resources are whole", corev1.ResourceRequirements{Requests: list("nvidia.com/gpu", "0.5")}, 1},
		"half a CPU":            {"CPUs are shared", corev1.ResourceRequirements{Requests: list("cpu", "500m")}, 0},
		"a negative request":    {"means nothing", corev1.ResourceRequirements{Requests: list("cpu", "-1")}, 1},
		"Kubernetes' own names": {"not a device plugin's", corev1.ResourceRequirements{Requests: list("kubernetes.io/x", "1"), Limits: list("kubernetes.io/x", "2")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if errs := validateResources(c.given, nil); len(errs) != c.want {
				t.Errorf("%s: want %d errors, got %v", c.reason, c.want, errs)
			}
		})
	}
}
