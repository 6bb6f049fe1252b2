package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestSharedMemory: GPUs bring a /dev/shm, and a size of 0 takes it away.
func TestSharedMemory(t *testing.T) {
	size := func(text string) func(*v1alpha1.TrainingJob) {
		q := resource.MustParse(text)
		return func(j *v1alpha1.TrainingJob) { j.Spec.SharedMemory = &q }
	}
	noGPUs := func(j *v1alpha1.TrainingJob) { j.Spec.Resources = corev1.ResourceRequirements{} }
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want string
	}{
		"with GPUs":         {jobtest.New(2), "2Gi"},
		"without GPUs":      {jobtest.New(2, noGPUs), ""},
		"asked for":         {jobtest.New(2, noGPUs, size("64Mi")), "64Mi"},
		"none, in spite of": {jobtest.New(2, size("0")), ""},
	} {
		got := ""
		for _, v := range rendered(t, c.job, worker(0), 1).Spec.Volumes {
			if v.Name == sharedMemoryVolume && v.EmptyDir.Medium == corev1.StorageMediumMemory {
				got = v.EmptyDir.SizeLimit.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestConfiguredTolerationsKeepRunningGangs: what the operator is configured with is no part of a gang that
// was queued before. Kueue would take its quota, because its pods were others.
func TestConfiguredTolerationsKeepRunningGangs(t *testing.T) {
	before := jobtest.New(2)
	before.Status.Attempt, before.Status.Scheduling = 1, &v1alpha1.SchedulingStatus{}
	if got := Gang(before, 1, true).Roles[0].Template.Spec.Tolerations; len(got) > 0 {
		t.Errorf("an attempt from before has %v", got)
	}
	after := jobtest.New(0, jobtest.Roles, func(j *v1alpha1.TrainingJob) {
		jobtest.SetGPUs(j, v1alpha1.RoleWorker, "4")
	})
	roles := RolesWithGPUs(after, nil)
	after.Status.Scheduling = &v1alpha1.SchedulingStatus{
		Tolerations:     []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		ToleratingRoles: roles,
	}
	gang := Gang(after, 2, false)
	master, workers := gang.Roles[0].Template.Spec, gang.Roles[1].Template.Spec
	if len(master.Tolerations) > 0 || len(workers.Tolerations) != 1 {
		t.Errorf("tolerations of the Master %v, which has no GPUs, and of Workers %v", master.Tolerations,
			workers.Tolerations)
	}
	if added := gang.Roles[1].AddedTolerations; len(added) != 1 {
		t.Errorf("the backend gets %v as added", added)
	}
}

// TestMirroredTolerations: the status of a dispatched job is a copy of another cluster's, whose admin
// configures that cluster's pods.
func TestMirroredTolerations(t *testing.T) {
	j := jobtest.New(2, func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue })
	j.Status.Scheduling = &v1alpha1.SchedulingStatus{
		Tolerations:     []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		ToleratingRoles: []v1alpha1.Role{v1alpha1.RoleWorker},
	}
	if got := Gang(j, 1, false).Roles[0].Template.Spec.Tolerations; len(got) > 0 {
		t.Errorf("the Workload has %v", got)
	}
}
