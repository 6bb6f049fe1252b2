package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestAgentRequestsNothing: what a rank requests of its node, and so what the gang requests of its queue, is
// the same with the agent.
func TestAgentRequestsNothing(t *testing.T) {
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			"cpu":            resource.MustParse("4"),
			"memory":         resource.MustParse("8Gi"),
			"nvidia.com/gpu": resource.MustParse("2"),
		},
		Limits: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
	}
	plain := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	saving := jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) { j.Spec.Resources = resources })
	if diff := cmp.Diff(Gang(plain, 1, false), Gang(saving, 1, false)); diff != "" {
		t.Errorf("the gang differs (-without +with checkpoints):\n%s", diff)
	}
	requests := func(job *v1alpha1.TrainingJob) corev1.ResourceList {
		return requestsOf(&corev1.PodTemplateSpec{Spec: rendered(t, job, worker(0), 1).Spec})
	}
	if diff := cmp.Diff(requests(plain), requests(saving)); diff != "" {
		t.Errorf("a rank's requests differ (-without +with checkpoints):\n%s", diff)
	}
	for _, c := range rendered(t, saving, worker(0), 1).Spec.InitContainers {
		if c.Resources.Limits.Cpu().Cmp(*c.Resources.Requests.Cpu()) != 0 || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("a Guaranteed pod would become Burstable by %s: %v", c.Name, c.Resources)
		}
	}
}
