package v1alpha1

// MPIImplementation is the MPI implementation in the job's image.
// +kubebuilder:validation:Enum=OpenMPI;Intel;MPICH
type MPIImplementation string

const (
	// OpenMPI is Open MPI, version 4 or later. The default.
	OpenMPI MPIImplementation = "OpenMPI"
	// IntelMPI is Intel MPI.
	IntelMPI MPIImplementation = "Intel"
	// MPICH is MPICH, or a descendant that starts processes with Hydra.
	MPICH MPIImplementation = "MPICH"
)

// MPISpec configures mpirun for framework mpi.
type MPISpec struct {
	// Implementation in the image; default OpenMPI. It selects the hostfile's format and variables.
	// +optional
	Implementation MPIImplementation `json:"implementation,omitempty"`
	// SlotsPerWorker is the number of processes on each Worker, 1 to 1024. Default: the GPUs of a Worker,
	// else 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// RunLauncherAsWorker starts processes on the Launcher too, with the first ranks and as many slots as a
	// Worker; default false.
	// +optional
	RunLauncherAsWorker *bool `json:"runLauncherAsWorker,omitempty"`
	// SSHAuthMountPath is a second directory for the job's SSH files besides /trainingjob/ssh, such as
	// /root/.ssh: an absolute path of at most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_.][A-Za-z0-9._=+@,~-]*)+$') && !self.contains('/..') && self != '/trainingjob' && !self.startsWith('/trainingjob/')",message="not the path of a directory to mount: write an absolute one outside of /trainingjob, without '..', '//' or a slash at its end, such as /root/.ssh"
	SSHAuthMountPath string `json:"sshAuthMountPath,omitempty"`
}

// MPIStatus is the SSH configuration of framework mpi.
type MPIStatus struct {
	// SSHSecretName is the Secret with the private key, for the job's pods only. A suspended job loses it and
	// gets another when it resumes.
	SSHSecretName string `json:"sshSecretName"`
	// SSHPublicKey is the only key that Launcher and Workers accept, for users and hosts.
	SSHPublicKey string `json:"sshPublicKey"`
}
