//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestMPI: two processes on two Workers add their ranks up, with both families of MPI, as root and not as
// root, in an image that configures neither ssh nor sshd.
func TestMPI(t *testing.T) {
	for _, implementation := range []v1alpha1.MPIImplementation{v1alpha1.OpenMPI, v1alpha1.MPICH} {
		for name, user := range map[string]int64{"root": 0, "user": mpiUser} {
			name := "mpi-" + mpirun[implementation][len("mpirun."):] + "-" + name
			t.Run(name, func(t *testing.T) {
				t.Cleanup(func() { env.clear(t) })
				env.logIfFailed(t, name)
				j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
				j.submitMPI(implementation, user, 0)
				if job := j.untilSucceeded(); job.Status.Restarts+job.Status.Preemptions > 0 {
					t.Errorf("%d restarts, %d preemptions", job.Status.Restarts, job.Status.Preemptions)
				}
			})
		}
	}
}

// TestMPIPreempted: a gang of MPI that loses its nodes runs again with the same key.
func TestMPIPreempted(t *testing.T) {
	for _, implementation := range []v1alpha1.MPIImplementation{v1alpha1.OpenMPI, v1alpha1.MPICH} {
		name := "preempted-" + mpirun[implementation][len("mpirun."):]
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, name)
			j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
			j.submitMPI(implementation, mpiUser, 3600)
			before := j.until("runs", func(job *v1alpha1.TrainingJob) bool {
				return job.Status.Phase == v1alpha1.PhaseRunning
			})
			j.preempt().remove()
			after := j.untilSucceeded()
			if after.Status.Preemptions != 1 || after.Status.Restarts != 0 {
				t.Errorf("%d preemptions and %d restarts, want 1 and 0", after.Status.Preemptions, after.Status.Restarts)
			}
			if a, b := before.Status.MPI, after.Status.MPI; a == nil || b == nil || *a != *b {
				t.Errorf("the key was %+v and is %+v", a, b)
			}
		})
	}
}

// mpirun of each implementation, by Debian's names.
var mpirun = map[v1alpha1.MPIImplementation]string{
	v1alpha1.OpenMPI: "mpirun.openmpi", v1alpha1.MPICH: "mpirun.mpich",
}

// submitMPI submits a Launcher and two Workers that fill the node. The first attempt takes so many seconds.
func (j *training) submitMPI(implementation v1alpha1.MPIImplementation, user int64, seconds int) {
	j.t.Helper()
	job := j.gang(mpiImage, nil)
	small := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}
	large := small.DeepCopy()
	large[gpu] = resource.MustParse("2")
	pod := func(requests corev1.ResourceList, command ...string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user},
			Containers: []corev1.Container{{
				Name: "mpi", Image: mpiImage, Command: command,
				Resources: corev1.ResourceRequirements{Requests: requests},
			}},
		}}
	}
	workers, slots := int32(2), int32(1)
	job.Spec = v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.FrameworkMPI,
		MPI:       &v1alpha1.MPISpec{Implementation: implementation, SlotsPerWorker: &slots},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.RoleLauncher: {Template: pod(small, mpirun[implementation], "-np", "$(WORLD_SIZE)",
				"/usr/bin/python3", "/opt/allreduce.py", fmt.Sprint(seconds))},
			v1alpha1.RoleWorker: {Replicas: &workers, Template: pod(large)},
		},
		RunPolicy: job.Spec.RunPolicy,
	}
	if err := j.client.Create(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
}
