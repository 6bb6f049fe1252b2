package api_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// overMPI is a valid job of framework mpi, changed by edit.
func overMPI(edit ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		roles(v1alpha1.FrameworkMPI, map[v1alpha1.Role]int32{
			v1alpha1.RoleLauncher: 1, v1alpha1.RoleWorker: 4,
		})(j)
		for _, e := range edit {
			e(j)
		}
	}
}

func inMPI(edit func(*v1alpha1.MPISpec)) func(*v1alpha1.TrainingJob) {
	return overMPI(func(j *v1alpha1.TrainingJob) {
		j.Spec.MPI = &v1alpha1.MPISpec{}
		edit(j.Spec.MPI)
	})
}

// inTrainer changes the first container of a role.
func inTrainer(role v1alpha1.Role, edit func(*corev1.Container)) func(*v1alpha1.TrainingJob) {
	return overMPI(editRole(role, func(r *v1alpha1.ReplicaSpec) { edit(&r.Template.Spec.Containers[0]) }))
}

func mpiSpecs() map[string]spec {
	noCommand := func(c *corev1.Container) { c.Command = nil }
	all := map[string]spec{
		"mpi": {reason: "the base of the other cases", full: true, edit: overMPI()},
		"mpi, all fields": {reason: "each is valid", full: true, edit: inMPI(func(m *v1alpha1.MPISpec) {
			*m = v1alpha1.MPISpec{Implementation: v1alpha1.MPICH, SlotsPerWorker: new(int32(8)),
				RunLauncherAsWorker: new(true), SSHAuthMountPath: "/home/mpiuser/.ssh"}
		})},
		"mpi, Workers that run sshd": {
			reason: "their default command", full: true, edit: inTrainer(v1alpha1.RoleWorker, noCommand),
		},
		"mpi, a Launcher alone": {
			reason: "it works itself", full: true,
			edit: overMPI(func(j *v1alpha1.TrainingJob) {
				delete(j.Spec.ReplicaSpecs, v1alpha1.RoleWorker)
				j.Spec.MPI = &v1alpha1.MPISpec{RunLauncherAsWorker: new(true)}
			}),
		},
		"mpi, the whole gang by number": {
			reason: "minAvailable is all ranks", full: true,
			edit: overMPI(scheduling(func(p *v1alpha1.SchedulingPolicy) { p.MinAvailable = new(int32(5)) })),
		},
		"spec.mpi of another framework": {
			reason: "it would be ignored", edit: func(j *v1alpha1.TrainingJob) { j.Spec.MPI = &v1alpha1.MPISpec{} },
			fields: []string{"spec.mpi"}, says: "set spec.framework to mpi",
		},
		"mpi in the simple form": {
			reason: "it has no Launcher",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Framework = v1alpha1.FrameworkMPI },
			fields: []string{"spec.replicaSpecs"}, says: "framework mpi needs a Launcher",
		},
		"mpi without a Launcher": {
			reason: "no rank runs mpirun", full: true,
			edit:   overMPI(func(j *v1alpha1.TrainingJob) { delete(j.Spec.ReplicaSpecs, v1alpha1.RoleLauncher) }),
			fields: []string{"spec.replicaSpecs"}, says: "framework mpi needs a Launcher",
		},
		"mpi without a host": {
			reason: "mpirun has nowhere to go", full: true,
			edit:   overMPI(func(j *v1alpha1.TrainingJob) { delete(j.Spec.ReplicaSpecs, v1alpha1.RoleWorker) }),
			fields: []string{"spec.replicaSpecs"}, says: "add Workers, or set spec.mpi.runLauncherAsWorker",
		},
		"mpi on a part of the Workers": {
			reason: "the Launcher waits for all", full: true,
			edit:   overMPI(scheduling(func(p *v1alpha1.SchedulingPolicy) { p.MinAvailable = new(int32(4)) })),
			fields: []string{minAvailableField}, says: "mpirun starts on all Workers or not at all",
		},
		"mpi, a Launcher without a command": {
			reason: "the agent cannot wait before the image's entrypoint", full: true, goOnly: true,
			edit:   inTrainer(v1alpha1.RoleLauncher, noCommand),
			fields: []string{"spec.replicaSpecs.Launcher.template.spec.containers.0.command"}, says: "write mpirun",
		},
		"mpi, Workers with args alone": {
			reason: "they are the arguments of an entrypoint that is not known", full: true, goOnly: true,
			edit: inTrainer(v1alpha1.RoleWorker, func(c *corev1.Container) {
				c.Command, c.Args = nil, []string{"/usr/sbin/sshd", "-De"}
			}),
			fields: []string{"spec.replicaSpecs.Worker.template.spec.containers.0.command"},
			says:   "remove args to run sshd",
		},
		"mpi, more names than a pod can carry": {
			reason: "the hostfile is an annotation", full: true, goOnly: true,
			edit: overMPI(
				editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) { r.Replicas = new(int32(4000)) }),
				func(j *v1alpha1.TrainingJob) { j.Name = strings.Repeat("a", 40) }),
			fields: []string{"spec.replicaSpecs.Worker.replicas"}, says: "use fewer Workers with more slots each",
		},
	}
	for name, edit := range map[string]func(*v1alpha1.MPISpec){
		"implementation":   func(m *v1alpha1.MPISpec) { m.Implementation = "LAM" },
		"slotsPerWorker":   func(m *v1alpha1.MPISpec) { m.SlotsPerWorker = new(int32(0)) },
		"sshAuthMountPath": func(m *v1alpha1.MPISpec) { m.SSHAuthMountPath = "/root/../.ssh" },
	} {
		all["mpi, a wrong "+name] = spec{
			reason: "the field's own bounds", full: true, edit: inMPI(edit), fields: []string{"spec.mpi." + name},
		}
	}
	for _, path := range []string{"/trainingjob/ssh", "root/.ssh", "/root/.ssh/", "/"} {
		all["mpi, keys at "+path] = spec{
			reason: "no place to mount at", full: true, fields: []string{"spec.mpi.sshAuthMountPath"},
			edit: inMPI(func(m *v1alpha1.MPISpec) { m.SSHAuthMountPath = path }),
		}
	}
	return all
}
