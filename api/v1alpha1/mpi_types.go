package v1alpha1

// MPIImplementation is who made the mpirun of the job's image.
// +kubebuilder:validation:Enum=OpenMPI;Intel;MPICH
type MPIImplementation string

const (
	// OpenMPI, the default, is Open MPI of version 4 or later.
	OpenMPI MPIImplementation = "OpenMPI"
	// IntelMPI is Intel MPI.
	IntelMPI MPIImplementation = "Intel"
	// MPICH is MPICH, or another descendant of it that starts processes with Hydra.
	MPICH MPIImplementation = "MPICH"
)

// MPISpec says how mpirun starts the processes of framework mpi.
type MPISpec struct {
	// Implementation that the image holds; default OpenMPI. It decides the form of the hostfile and which
	// variables name it.
	// +optional
	Implementation MPIImplementation `json:"implementation,omitempty"`
	// SlotsPerWorker is the number of processes on each Worker, from 1 to 1024. Default: the GPUs of a Worker,
	// else 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// RunLauncherAsWorker true starts processes on the Launcher too, which then has the first ranks and as many
	// slots as a Worker. Default false.
	// +optional
	RunLauncherAsWorker *bool `json:"runLauncherAsWorker,omitempty"`
	// SSHAuthMountPath is one more directory, an absolute path of at most 253 characters, in which the trainers
	// find the job's keys and the configuration of ssh, such as /root/.ssh: for images whose own sshd or scripts
	// look there. Default: /trainingjob/ssh alone.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_.][A-Za-z0-9._=+@,~-]*)+$') && !self.contains('/..') && self != '/trainingjob' && !self.startsWith('/trainingjob/')",message="not the path of a directory to mount: write an absolute one outside of /trainingjob, without '..', '//' or a slash at its end, such as /root/.ssh"
	SSHAuthMountPath string `json:"sshAuthMountPath,omitempty"`
}

// MPIStatus is what the ranks of framework mpi reach each other with.
type MPIStatus struct {
	// SSHSecretName is the name of the Secret with the private key, which belongs to the job and which only its
	// pods mount. A job that is suspended gives it up and gets another one when it is resumed.
	SSHSecretName string `json:"sshSecretName"`
	// SSHPublicKey is the only key that Launcher and Workers accept, of each other's users and hosts.
	SSHPublicKey string `json:"sshPublicKey"`
}
