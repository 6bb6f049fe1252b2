package backends

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestClusterJobOfUnknownRoles: a job that no admission has judged must not end the operator.
func TestClusterJobOfUnknownRoles(t *testing.T) {
	job := &v1alpha1.TrainingJob{}
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{"Boss": {}}
	if got := JobOf(job); got.PriorityClass != "" {
		t.Errorf("PriorityClass %q", got.PriorityClass)
	}
}
