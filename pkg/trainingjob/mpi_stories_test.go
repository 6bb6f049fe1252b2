package trainingjob

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// withMPI sets framework mpi: a Launcher and two Workers that run sshd.
func withMPI(j *v1alpha1.TrainingJob) {
	jobtest.Roles(j)
	j.Spec.Framework = v1alpha1.FrameworkMPI
	launcher := j.Spec.ReplicaSpecs[v1alpha1.RoleMaster]
	delete(j.Spec.ReplicaSpecs, v1alpha1.RoleMaster)
	launcher.Template.Spec.Containers = []corev1.Container{
		{Name: "mpi", Image: "mpi:1", Command: []string{"mpirun", "train"}},
	}
	j.Spec.ReplicaSpecs[v1alpha1.RoleLauncher] = launcher
}

// Gangs whose Launcher starts the other ranks.
var mpiStories = map[string]story{
	"mpi-launcher-decides": {jobtest.New(0, withMPI), func(sim *simulation) {
		sim.narrate("Launcher and Workers form one gang")
		sim.bindAndStart()
		sim.narrate("all are running")
		sim.preempt("bert-worker-1")
		sim.narrate("a Worker is preempted, and the operator stops the gang, whatever mpirun returns")
		sim.bindAndStart()
		sim.narrate("the gang is running again")
		sim.exit(0, "bert-launcher-0")
		sim.narrate("mpirun exits 0, and the operator stops the Workers")
	}},
	"mpi-launcher-fails": {jobtest.New(0, withMPI), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-launcher-0")
		sim.narrate("mpirun fails; the operator stops the Workers, and one restart is spent")
	}},
	"mpi-suspended": {jobtest.New(0, withMPI), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.logf("its key: %v", sim.job.Status.MPI)
		setSuspend(sim, false)
		sim.narrate("the user resumes the job, and the next attempt gets another key")
	}},
	"mpi-agent-not-configured": {jobtest.New(0, withMPI), func(sim *simulation) {
		sim.agent = render.Agent{}
		sim.narrate("no agent can prepare the keys")
		sim.logStatus()
	}},
}
