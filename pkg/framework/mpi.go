package framework

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MPI is what the user says of MPI. It stands in the Gang, because it changes what ranks get.
type MPI struct {
	// Implementation is OpenMPI, Intel or MPICH; empty: OpenMPI.
	Implementation string
	// Slots is the number of processes for each host, at least 1.
	Slots int32
	// LauncherWorks: the launcher is a host for processes too.
	LauncherWorks bool
	// SSHConfig is the path of the configuration with which ssh reaches the workers.
	SSHConfig string
}

const (
	mpiLauncher = "Launcher"
	mpiWorker   = "Worker"
	hostfile    = "hostfile"
)

// mpi serves a launcher that starts processes on the workers by ssh. Processes learn their ranks from MPI, so
// no rank gets RANK. WORLD_SIZE is the number of processes: the launcher's own slots count only where it
// works too.
//
// Roles, implementations and the port are those of Kubeflow's MPIJob v2beta1, so that its templates and
// images work (pkg/apis/kubeflow/v2beta1/types.go and build/base/Dockerfile, mpi-operator v0.8.0). Unlike
// there, ssh and sshd get configurations of the job's own, whatever those of the image are.
func mpi() Framework {
	return Framework{
		Name:        "mpi",
		Summary:     "WORLD_SIZE (the number of processes), the SSH setup of mpirun; in the Launcher the hostfile",
		Roles:       []string{mpiLauncher, mpiWorker},
		DefaultPort: 2222, // any user may listen there
		AllListen:   true,
		Env:         mpiEnv,
		Files:       mpiFiles,
	}
}

// Hosts of the processes, in the order of their ranks.
func (m MPI) hosts(gang Gang) []Rank {
	var hosts []Rank
	for rank := range gang.Ranks() {
		if rank.Role == mpiWorker || m.LauncherWorks {
			hosts = append(hosts, rank)
		}
	}
	return hosts
}

// mpiFiles gives the hostfile to the rank that runs mpirun. Workers have no use for it, and in a large gang
// each copy is large.
func mpiFiles(gang Gang, self Rank) map[string]string {
	if self.Role != mpiLauncher {
		return nil
	}
	// Of a host file, Open MPI reads "slots=" (orte/util/hostfile/hostfile_lex.l, 4.1.4), and Hydra a number
	// behind a colon (HYDU_process_mfile_token in src/pm/hydra/utils/args/args.c, MPICH 4.0.2).
	format := "%s slots=%d\n"
	if gang.MPI.hydra() {
		format = "%s:%d\n"
	}
	var b strings.Builder
	for _, host := range gang.MPI.hosts(gang) {
		fmt.Fprintf(&b, format, host.Host, gang.MPI.Slots)
	}
	return map[string]string{hostfile: b.String()}
}

func (m MPI) hydra() bool { return m.Implementation == "Intel" || m.Implementation == "MPICH" }

func mpiEnv(gang Gang, self Rank) []corev1.EnvVar {
	m := gang.MPI
	file := ""
	if self.Role == mpiLauncher {
		file = gang.FilesDir + "/" + hostfile
	}
	env := []corev1.EnvVar{{Name: "WORLD_SIZE", Value: fmt.Sprint(int64(len(m.hosts(gang))) * int64(m.Slots))}}
	ssh := "-F " + m.SSHConfig
	switch m.Implementation {
	case "Intel":
		env = append(env, intelEnv(m, ssh, file)...)
	case "MPICH":
		// src/pm/hydra/tools/bootstrap/external/external_common_launch.c, MPICH 4.0.2. It does not read
		// HYDRA_LAUNCH_EXTRA_ARGS, which Kubeflow sets: that was the name in Hydra's first versions.
		env = append(env, corev1.EnvVar{Name: "HYDRA_LAUNCHER_EXTRA_ARGS", Value: ssh})
		if file != "" { // src/pm/hydra/ui/mpich/utils.c, MPICH 4.0.2
			env = append(env, corev1.EnvVar{Name: "HYDRA_HOST_FILE", Value: file})
		}
	default:
		env = append(env, openMPIEnv(m, ssh, file)...)
	}
	// Else the last lines before a crash are not in the log (Python/initconfig.c, CPython 3.11).
	return append(env, corev1.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"})
}

// intelEnv is what the Hydra of Intel MPI reads (Intel MPI Library Developer Reference 2021.13, "Hydra
// Environment Variables"; its source is closed). It takes no slots from the host file.
func intelEnv(m MPI, ssh, file string) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "ssh"},
		{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", Value: ssh},
		{Name: "I_MPI_PERHOST", Value: fmt.Sprint(m.Slots)},
	}
	if file != "" {
		env = append(env, corev1.EnvVar{Name: "I_MPI_HYDRA_HOST_FILE", Value: file})
	}
	return env
}

// openMPIEnv is what Open MPI reads: up to 4.1 by its own run-time environment, ORTE, from 5.0 by PRRTE. Each
// passes over the other's variables.
func openMPIEnv(m MPI, ssh, file string) []corev1.EnvVar {
	env := []corev1.EnvVar{
		// Containers run as root more often than not, and a container is the sandbox that mpirun asks for
		// (orte/orted/orted_submit.c, 4.1.4; src/mca/schizo/ompi/schizo_ompi.c, PRRTE 3.0).
		{Name: "OMPI_ALLOW_RUN_AS_ROOT", Value: "1"},
		{Name: "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", Value: "1"},
		// orte/mca/plm/rsh/plm_rsh_component.c, 4.1.4; src/mca/plm/ssh/plm_ssh_component.c, PRRTE 3.0.
		{Name: "OMPI_MCA_plm_rsh_args", Value: ssh},
		{Name: "PRTE_MCA_plm_ssh_args", Value: ssh},
		// The first label of a host name does not resolve: the second is the Service
		// (orte/runtime/orte_mca_params.c, 4.1.4; src/runtime/prte_mca_params.c, PRRTE 3.0).
		{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
		{Name: "PRTE_MCA_prte_keep_fqdn_hostnames", Value: "true"},
	}
	if file != "" { // the same two files
		env = append(env,
			corev1.EnvVar{Name: "OMPI_MCA_orte_default_hostfile", Value: file},
			corev1.EnvVar{Name: "PRTE_MCA_prte_default_hostfile", Value: file})
	}
	return env
}
