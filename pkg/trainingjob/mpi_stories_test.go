package trainingjob

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// overMPI turns a job into one of framework mpi: a Launcher and two Workers that run sshd.
func overMPI(j *v1alpha1.TrainingJob) {
	jobtest.Roles(j)
	j.Spec.Framework = v1alpha1.FrameworkMPI
	launcher := j.Spec.ReplicaSpecs[v1alpha1.RoleMaster]
	delete(j.Spec.ReplicaSpecs, v1alpha1.RoleMaster)
	launcher.Template.Spec.Containers = []corev1.Container{
		{Name: "mpi", Image: "mpi:1", Command: []string{"mpirun", "train"}},
	}
	j.Spec.ReplicaSpecs[v1alpha1.RoleLauncher] = launcher
}

// What is special about a gang of which one rank only starts the others.
var mpiStories = map[string]story{
	"mpi-launcher-decides": {jobtest.New(0, overMPI), func(sim *simulation) {
		sim.narrate("Launcher and Workers are one gang")
		sim.bindAndStart()
		sim.narrate("all run")
		sim.preempt("bert-worker-1")
		sim.narrate("a Worker is preempted: the whole gang ends, whatever mpirun says of it")
		sim.bindAndStart()
		sim.narrate("it runs again")
		sim.exit(0, "bert-launcher-0")
		sim.narrate("mpirun exits 0: the Workers, which would wait for ever, end")
	}},
	"mpi-launcher-fails": {jobtest.New(0, overMPI), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-launcher-0")
		sim.narrate("mpirun fails: the Workers end with it, and one restart is spent")
	}},
	"mpi-suspended": {jobtest.New(0, overMPI), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.logf("its key: %v", sim.job.Status.MPI)
		setSuspend(sim, false)
		sim.narrate("and resumes it: the next attempt gets another key")
	}},
	"mpi-agent-not-configured": {jobtest.New(0, overMPI), func(sim *simulation) {
		sim.agent = render.Agent{}
		sim.narrate("nothing can prepare the keys")
		sim.logStatus()
	}},
}
