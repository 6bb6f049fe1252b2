//go:build e2e

package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/debian"
)

// TestMPI: two processes on two Workers add their ranks up, with both families of MPI, as root and not as
// root, in an image that configures neither ssh nor sshd.
func TestMPI(t *testing.T) {
	for _, implementation := range []v1alpha1.MPIImplementation{v1alpha1.OpenMPI, v1alpha1.MPICH} {
		for name, user := range map[string]int64{"root": 0, "user": debian.MPIUser} {
			if *reduced && (implementation == v1alpha1.OpenMPI) == (name == "root") {
				continue // each implementation and each user once
			}
			name := "mpi-" + mpirun[implementation][len("mpirun."):] + "-" + name
			t.Run(name, func(t *testing.T) {
				t.Cleanup(func() { env.clear(t) })
				env.logIfFailed(t, name)
				j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
				j.create(j.overMPI(implementation, user, "/opt/allreduce.py", "0"))
				if job := j.untilSucceeded(); job.Status.Restarts+job.Status.Preemptions > 0 {
					t.Errorf("%d restarts, %d preemptions", job.Status.Restarts, job.Status.Preemptions)
				}
			})
		}
	}
}

// mpirun of each implementation, by Debian's names.
var mpirun = map[v1alpha1.MPIImplementation]string{
	v1alpha1.OpenMPI: "mpirun.openmpi", v1alpha1.MPICH: "mpirun.mpich",
}

// TestMPIResumes: the processes of a preempted gang save when its agents tell them to, and go on from there,
// with the same key.
func TestMPIResumes(t *testing.T) {
	for _, implementation := range []v1alpha1.MPIImplementation{v1alpha1.OpenMPI, v1alpha1.MPICH} {
		if *reduced && implementation == v1alpha1.MPICH {
			continue
		}
		name := "resumes-" + mpirun[implementation][len("mpirun."):]
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { env.clear(t) })
			env.logIfFailed(t, name)
			j := env.newTraining(t, program{}, v1alpha1.SchedulerVolcano, name)
			job := j.overMPI(implementation, 0, "/opt/mpi_steps.py", "2000")
			j.saveOnDisk(job, 3600)
			j.create(job)
			before := j.until("has trained 20 steps", func(job *v1alpha1.TrainingJob) bool {
				return job.Status.Progress != nil && job.Status.Progress.Step >= 20
			})
			j.preempt().remove()
			status := j.untilSucceeded().Status
			if a, b := before.Status.MPI, status.MPI; a == nil || b == nil || *a != *b {
				t.Errorf("the key was %+v and is %+v", a, b)
			}
			if status.Preemptions != 1 || status.Restarts != 0 || status.Work == nil || status.Work.LostSteps > 1 {
				t.Errorf("%d preemptions, %d restarts, work %+v: want one preemption that loses a step at most",
					status.Preemptions, status.Restarts, status.Work)
			}
			if c := status.Checkpoint; c == nil || c.ResumeFrom == nil || c.ResumeFrom.Step < 20 {
				t.Errorf("resumed from %+v, want step 20 or later", c)
			}
		})
	}
}

func (j *training) create(job *v1alpha1.TrainingJob) {
	j.t.Helper()
	if err := j.client.Create(j.t.Context(), job); err != nil {
		j.t.Fatal(err)
	}
}

// overMPI is a Launcher that runs a program on two Workers, which fill the node.
func (j *training) overMPI(
	implementation v1alpha1.MPIImplementation, user int64, program ...string,
) *v1alpha1.TrainingJob {
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
			v1alpha1.RoleLauncher: {Template: pod(small, slices.Concat([]string{
				mpirun[implementation], "-np", "$(WORLD_SIZE)", "/usr/bin/python3",
			}, program)...)},
			v1alpha1.RoleWorker: {Replicas: &workers, Template: pod(large)},
		},
		RunPolicy: job.Spec.RunPolicy,
	}
	return job
}
