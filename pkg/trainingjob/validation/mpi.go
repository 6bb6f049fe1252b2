package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxSSHPath bounds sshAuthMountPath, as in the CRD's schema.
const maxSSHPath = 253

var sshPath = regexp.MustCompile(`^(/[A-Za-z0-9_.][A-Za-z0-9._=+@,~-]*)+$`)

// validateMPI checks the requirements of framework mpi, and that no other framework has spec.mpi.
func validateMPI(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	if !spec.NeedsSSH(job) {
		if job.Spec.MPI == nil {
			return nil
		}
		return field.ErrorList{field.Forbidden(path.Child("mpi"),
			"mpi belongs to framework mpi: remove it, or set spec.framework to mpi")}
	}
	errs := slices.Concat(
		validateMPISpec(job.Spec.MPI, path.Child("mpi")), validateMPIRoles(job, path),
		validateHostfile(job, path.Child("replicaSpecs")))
	for _, t := range templates(job) {
		if !t.simple {
			errs = append(errs, validateMPITrainer(job, t)...)
		}
	}
	if m := job.Spec.RunPolicy.SchedulingPolicy.MinAvailable; m != nil && *m > 0 && *m < spec.Ranks(job) {
		at := path.Child("runPolicy", "schedulingPolicy", "minAvailable")
		errs = append(errs, field.Invalid(at, *m,
			"mpirun starts on all Workers or not at all: remove minAvailable, or set it to the number of ranks"))
	}
	return errs
}

func validateMPISpec(m *v1alpha1.MPISpec, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := slices.Concat(
		oneOf(path.Child("implementation"), m.Implementation,
			v1alpha1.OpenMPI, v1alpha1.IntelMPI, v1alpha1.MPICH),
		inRange(path.Child("slotsPerWorker"), m.SlotsPerWorker, 1, spec.MaxSlots))
	at, dir := path.Child("sshAuthMountPath"), m.SSHAuthMountPath
	if len(dir) > maxSSHPath {
		errs = append(errs, field.TooLong(at, "", maxSSHPath))
	}
	reserved := dir == spec.ReservedDir || strings.HasPrefix(dir, spec.ReservedDir+"/")
	if dir != "" && (!sshPath.MatchString(dir) || strings.Contains(dir, "/..") || reserved) {
		errs = append(errs, field.Invalid(at, dir, "not the path of a directory to mount: write an absolute one "+
			"outside of /trainingjob, without '..', '//' or a slash at its end, such as /root/.ssh"))
	}
	return errs
}

// validateMPIRoles checks that there is a launcher, and a host for its processes. validateRoles reports other
// roles, and more than one launcher.
func validateMPIRoles(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	_, launcher := job.Spec.ReplicaSpecs[v1alpha1.RoleLauncher]
	_, worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	switch {
	case !launcher:
		return field.ErrorList{field.Required(path.Child("replicaSpecs"),
			"framework mpi needs a Launcher, which runs mpirun, and Workers: give both in spec.replicaSpecs")}
	case !worker && !spec.LauncherWorks(job):
		return field.ErrorList{field.Required(path.Child("replicaSpecs"),
			"framework mpi has no host for its processes: add Workers, or set spec.mpi.runLauncherAsWorker to true")}
	}
	return nil
}

// validateMPITrainer checks that the agent can run the command of a launcher or a worker.
func validateMPITrainer(job *v1alpha1.TrainingJob, t template) field.ErrorList {
	trainer, path := t.trainer(job)
	if trainer == nil {
		return nil // validateTemplates finds that
	}
	var errs field.ErrorList
	switch {
	case len(trainer.Command) > 0:
	case t.role == v1alpha1.RoleLauncher:
		errs = append(errs, field.Required(path.Child("command"), fmt.Sprintf("container %q has no command, so "+
			"the agent, which waits for the Workers, cannot run it: write mpirun and its arguments, or the image's "+
			"own entrypoint, here", trainer.Name)))
	case len(trainer.Args) > 0:
		errs = append(errs, field.Required(path.Child("command"), fmt.Sprintf("container %q has args and no "+
			"command, so the agent, which prepares the keys, cannot run it: write the image's own entrypoint here, "+
			"or remove args to run sshd", trainer.Name)))
	}
	m := job.Spec.MPI
	if m == nil || m.SSHAuthMountPath == "" {
		return errs
	}
	for i, mount := range trainer.VolumeMounts {
		if strings.TrimSuffix(mount.MountPath, "/") == m.SSHAuthMountPath {
			at := path.Child("volumeMounts").Index(i).Child("mountPath")
			errs = append(errs, field.Invalid(at, mount.MountPath,
				"the job's keys are mounted there: remove this mount, or set another spec.mpi.sshAuthMountPath"))
		}
	}
	return errs
}

// validateHostfile checks that the launcher's pod can carry the names of all hosts.
func validateHostfile(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	gang := framework.Gang{Job: job.Name, Host: func(role string, index int32) string {
		return spec.RankHost(job.Name, spec.RankRef{Role: v1alpha1.Role(role), Index: index})
	}}
	launcher := -1
	for i, role := range spec.Roles(job) {
		if role.Replicas < 1 || role.Replicas > spec.MaxReplicas {
			return nil // validateReplicas finds that
		}
		gang.Roles = append(gang.Roles, framework.Role{Name: string(role.Name), Replicas: role.Replicas})
		if role.Name == v1alpha1.RoleLauncher {
			launcher = i
		}
	}
	if launcher < 0 {
		return nil // validateMPIRoles finds that
	}
	gang.MPI = spec.MPI(job, spec.MaxSlots) // as many digits as there can be
	if _, err := spec.Framework(job).Setup(gang, gang.Rank(string(v1alpha1.RoleLauncher), 0)); err != nil {
		at := path.Key(string(v1alpha1.RoleWorker)).Child("replicas")
		return field.ErrorList{field.Invalid(at, gang.Size()-1,
			err.Error()+": use fewer Workers with more slots each, or a shorter metadata.name")}
	}
	return nil
}
