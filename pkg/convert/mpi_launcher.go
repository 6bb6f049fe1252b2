package convert

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// mpiEntrypoint is the entrypoint of mpi-operator's images of Intel MPI and MPICH. It sets the library's
// variables and runs its arguments (build/base/intel.Dockerfile, mpich.Dockerfile and entrypoint.sh,
// mpi-operator v0.8.2). Its images of Open MPI have none.
const mpiEntrypoint = "/entrypoint.sh"

// mpiStarters are programs that start the processes of an MPI job.
var mpiStarters = []string{"mpirun", "mpiexec", "mpiexec.hydra", "horovodrun"}

// mpiCommand is the command of a role's trainer, which the agent starts. at is the path of the pod's spec.
func (c *conversion) mpiCommand(
	role v1alpha1.Role, pod *corev1.PodSpec, trainer *corev1.Container,
	implementation v1alpha1.MPIImplementation, at *field.Path,
) {
	at = at.Child("containers")
	switch {
	case trainer == nil:
	case role == v1alpha1.RoleWorker:
		c.withoutSSHD(trainer, at)
	case role == v1alpha1.RoleLauncher:
		c.launcherCommand(trainer, implementation, at.Index(indexOf(pod, trainer)))
	}
}

// launcherCommand gives a Launcher that has arguments alone the command that its image, or its first
// argument, names. Another Launcher without a command is left to the API, which refuses it.
func (c *conversion) launcherCommand(
	launcher *corev1.Container, implementation v1alpha1.MPIImplementation, at *field.Path,
) {
	if len(launcher.Command) > 0 || len(launcher.Args) == 0 {
		return
	}
	image := strings.TrimPrefix(launcher.Image, "docker.io/")
	hydra := implementation == v1alpha1.IntelMPI || implementation == v1alpha1.MPICH
	switch first := launcher.Args[0]; {
	case hydra && strings.HasPrefix(image, "mpioperator/"):
		launcher.Command = []string{mpiEntrypoint}
		c.warn(at.Child("command"), "%s is written: it is the entrypoint of mpi-operator's image", mpiEntrypoint)
	case slices.Contains(mpiStarters, path.Base(first)):
		launcher.Command, launcher.Args = []string{first}, launcher.Args[1:]
		c.warn(at.Child("args").Index(0), "%s becomes the command: the entrypoint of the image, if it has one, "+
			"does not run", first)
	}
}

// loneLauncher lets a Launcher without Workers run the processes. at is the path of the roles.
func (c *conversion) loneLauncher(job *v1alpha1.TrainingJob, at *field.Path) {
	_, launcher := job.Spec.ReplicaSpecs[v1alpha1.RoleLauncher]
	_, worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	if !launcher || worker || spec.LauncherWorks(job) {
		return
	}
	to := mpi(job)
	to.RunLauncherAsWorker = new(true)
	c.warn(at, "the job has no Worker: the Launcher runs the processes itself "+
		"(mpi.runLauncherAsWorker), at most slotsPerWorker, which is %d", *to.SlotsPerWorker)
}

// runs reports whether a command is one of some programs, or a shell's that starts one.
func runs(command []string, programs ...string) bool {
	if len(command) == 0 {
		return false
	}
	is := func(word string) bool { return slices.Contains(programs, path.Base(word)) }
	switch path.Base(command[0]) {
	case "sh", "bash", "dash":
		return slices.ContainsFunc(strings.FieldsFunc(strings.Join(command[1:], " "), func(r rune) bool {
			return strings.ContainsRune(" \t\n;&|()", r)
		}), is)
	}
	return is(command[0])
}
