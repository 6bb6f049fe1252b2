// Package jobtest creates TrainingJobs for the core's unit tests.
package jobtest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// New returns a job "bert" of n ranks with 2 GPUs each, in the simple form, changed by edit.
func New(n int32, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "team-a", UID: "job-uid", Generation: 1},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch,
			Image:     "bert:1",
			Command:   []string{"python", "train.py"},
			Replicas:  &n,
			Resources: Requests("nvidia.com/gpu", "2"),
		},
	}
	for _, e := range edit {
		e(job)
	}
	return job
}

// Roles turns a job into the full form: a Master and two Workers without requests.
func Roles(j *v1alpha1.TrainingJob) {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "pytorch", Image: "bert:1"}}}
	j.Spec.Image, j.Spec.Command, j.Spec.Replicas, j.Spec.Resources = "", nil, nil, corev1.ResourceRequirements{}
	j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
		v1alpha1.RoleMaster: {Template: corev1.PodTemplateSpec{Spec: *pod.DeepCopy()}},
		v1alpha1.RoleWorker: {Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: pod}},
	}
}

// RolesOf turns a job into the full form of a framework, with so many ranks of each role, which request
// nothing.
func RolesOf(framework v1alpha1.Framework, replicas map[v1alpha1.Role]int32) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		Roles(j)
		pod := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template
		pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Command = "main", []string{"python", "train.py"}
		j.Spec.Framework, j.Spec.ReplicaSpecs = framework, map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
		for role, n := range replicas {
			j.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{Replicas: &n, Template: *pod.DeepCopy()}
		}
	}
}

// Checkpoints gives a job checkpoints on a claim that the operator makes.
func Checkpoints(j *v1alpha1.TrainingJob) { j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{} }

// SetGPUs sets the GPUs that each rank of a role requests.
func SetGPUs(j *v1alpha1.TrainingJob, role v1alpha1.Role, n string) {
	spec := j.Spec.ReplicaSpecs[role]
	spec.Template = *spec.Template.DeepCopy()
	spec.Template.Spec.Containers[0].Resources = Requests("nvidia.com/gpu", n)
	j.Spec.ReplicaSpecs[role] = spec
}

// Requests of one resource.
func Requests(name corev1.ResourceName, n string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse(n)}}
}
