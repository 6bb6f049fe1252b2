//go:build cluster

package api_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// claims checks that a job whose ranks claim devices gets a warning: minResources does not count claims.
func (s server) claims(t *testing.T) {
	c, warned := s.warned(t)
	job := func(claims ...corev1.PodResourceClaim) *v1alpha1.TrainingJob {
		return &v1alpha1.TrainingJob{
			ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "default"},
			Spec: v1alpha1.TrainingJobSpec{
				Framework: v1alpha1.FrameworkPyTorch,
				ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
					Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
						Containers:     []corev1.Container{{Name: "trainer", Image: "i", Command: []string{"c"}}},
						ResourceClaims: claims,
					}},
				}},
			},
		}
	}
	gpu := corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: new("one-gpu")}
	for name, tc := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want bool
	}{"claims a device": {job(gpu), true}, "claims none": {job(), false}} {
		warned.take()
		if err := c.Create(t.Context(), tc.job, client.DryRunAll); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := warned.take(); strings.Contains(text, "resourceClaims") != tc.want {
			t.Errorf("%s: warned: %q", name, text)
		}
	}
}
