package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Framework selects the environment variables by which the ranks find each other.
type Framework string

const (
	// FrameworkMPI starts processes of Open MPI, Intel MPI or MPICH on the Workers by ssh, from a Launcher.
	FrameworkMPI Framework = "mpi"
	// FrameworkPyTorch gives every rank MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and torchrun's PET_*
	// variables.
	FrameworkPyTorch Framework = "pytorch"
	// FrameworkTensorFlow gives every rank TF_CONFIG.
	FrameworkTensorFlow Framework = "tensorflow"
	// FrameworkJAX gives every rank the coordinator's address and port, the number of processes and its own.
	FrameworkJAX Framework = "jax"
	// FrameworkMXNet gives every rank the DMLC_* variables of MXNet's scheduler, servers and workers.
	FrameworkMXNet Framework = "mxnet"
	// FrameworkXGBoost gives every rank the address of the tracker, its rank and the number of ranks.
	FrameworkXGBoost Framework = "xgboost"
	// FrameworkCustom gives every rank its number, the number of ranks and the leader's host name, under
	// names that belong to no framework.
	FrameworkCustom Framework = "custom"
)

// Role is a kind of rank, named as in Kubeflow.
type Role string

const (
	// RoleMaster is rank 0, the leader. Its exit code decides whether the job succeeds.
	RoleMaster Role = "Master"
	// RoleChief is the leader under TensorFlow's name.
	RoleChief Role = "Chief"
	// RoleLauncher is the leader under MPI's name.
	RoleLauncher Role = "Launcher"
	// RoleScheduler serves the other ranks. It does not count for success; the operator stops it when the job
	// succeeds.
	RoleScheduler Role = "Scheduler"
	// RoleServer serves like Scheduler.
	RoleServer Role = "Server"
	// RolePS is a parameter server, like Scheduler.
	RolePS Role = "PS"
	// RoleWorker trains. Without a leader, the job succeeds when every Worker exits 0, or with
	// spec.elasticPolicy Worker 0.
	RoleWorker Role = "Worker"
	// RoleEvaluator evaluates the model. It has the last ranks and does not count for success. When the job
	// succeeds, it gets its template's terminationGracePeriodSeconds.
	RoleEvaluator Role = "Evaluator"
)

// SecurityProfile is a set of defaults for pod security contexts.
// +kubebuilder:validation:Enum=NonRoot
type SecurityProfile string

const (
	// SecurityNonRoot sets what the Pod Security Standard "restricted" requires: runAsNonRoot (user, group
	// and fsGroup 1000), no privilege escalation, no capabilities, seccomp profile RuntimeDefault.
	SecurityNonRoot SecurityProfile = "NonRoot"
)

// CollectiveBackend is a backend of collective operations.
// +kubebuilder:validation:Enum=nccl;gloo;mpi;ucc
type CollectiveBackend string

const (
	// BackendNCCL is NVIDIA's NCCL, or AMD's RCCL, for GPUs.
	BackendNCCL CollectiveBackend = "nccl"
	// BackendGloo is Gloo, for CPUs.
	BackendGloo CollectiveBackend = "gloo"
	// BackendMPI is the framework's MPI library.
	BackendMPI CollectiveBackend = "mpi"
	// BackendUCC is Unified Collective Communication.
	BackendUCC CollectiveBackend = "ucc"
)

// TrainingJobSpec describes the gang in one of two forms. The simple form (image, command, replicas and so
// on) gives identical ranks of role Worker. The full form (replicaSpecs) gives roles with pod templates.
type TrainingJobSpec struct {
	// Framework of the ranks.
	Framework Framework `json:"framework"`
	// FrameworkVersion in the image, such as 2.1 or 2.1.0-cu121; at most 32 characters. Pods get it as the
	// label mlplatform.example.com/framework-version. Unset: not checked.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,4}[.][0-9]{1,4}([.-][0-9A-Za-z]+)*$')",message="not a version: write the major and the minor number, such as 2.1 or 2.1.0-cu121"
	FrameworkVersion string `json:"frameworkVersion,omitempty"`

	// Image of the ranks. Required in the simple form.
	// +optional
	Image string `json:"image,omitempty"`
	// Command of every rank, not run in a shell. Required in the simple form.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// Args are appended to command. Simple form.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// Env of every rank. It can use the operator's variables, as in $(RANK), and overrides them. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom adds keys of ConfigMaps and Secrets to the environment. Simple form.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Replicas is the number of ranks, 1 to 10000; default 1. Simple form.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of every rank. The operator copies extended resources from requests to limits. Simple form.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// Volumes of the ranks' pods. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts of every rank's container. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// NodeSelector of the ranks' pods. Simple form.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of the ranks' pods. Simple form.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity of the ranks' pods. Simple form.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// ImagePullSecrets of the ranks' pods. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// ServiceAccountName of the ranks' pods; default "default". Simple form.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// SecurityContext of the ranks' pods. Simple form.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// ReplicaSpecs describes the ranks of each role. At most one rank leads (Master, Chief or Launcher). It
	// excludes the simple form.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=10
	ReplicaSpecs map[Role]ReplicaSpec `json:"replicaSpecs,omitempty"`

	// ElasticPolicy lets the gang train with fewer ranks than replicas. Framework pytorch only.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`

	// SharedMemory is the size of /dev/shm in every trainer, at least 0, part of the container's memory
	// limit. Default: 2Gi if the trainer requests GPUs, else 0, the container runtime's default (mostly 64
	// MiB). A trainer's own mount takes precedence.
	// +optional
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty"`
	// SecurityProfile provides defaults for the security contexts of the ranks' pods. Unset: none.
	// +optional
	SecurityProfile SecurityProfile `json:"securityProfile,omitempty"`
	// Networking configures the communication between ranks.
	// +optional
	Networking NetworkingSpec `json:"networking,omitzero"`

	// SuccessPolicy decides which ranks must exit 0 for the job to succeed. Default: the leader, else every
	// Worker.
	// +optional
	SuccessPolicy SuccessPolicy `json:"successPolicy,omitempty"`
	// RestartPolicy of roles that set none; default OnFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// BackoffLimit is the maximum number of restarts after failures, at least 0; default 3. Preemptions,
	// drains and lost nodes do not count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// Hyperparameters by name, at most 64: strings of at most 1024 bytes, numbers and booleans. Every
	// container gets each as HYPERPARAM_<NAME> (upper case; characters other than letters and digits become
	// _), and all as a JSON object in the file HYPERPARAMETERS_FILE. Quote numbers that must keep their
	// digits, such as 1.10.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MaxProperties=64
	Hyperparameters map[string]HyperparameterValue `json:"hyperparameters,omitempty"`
	// HyperparametersFrom names a ConfigMap that must exist. Every container gets each key as
	// HYPERPARAM_<KEY>, with the key as spelled, but not in HYPERPARAMETERS_FILE. Hyperparameters take
	// precedence.
	// +optional
	HyperparametersFrom *ConfigMapReference `json:"hyperparametersFrom,omitempty"`

	// MPI configures mpirun. Framework mpi only.
	// +optional
	MPI *MPISpec `json:"mpi,omitempty"`

	// Checkpoint lets the gang resume from its latest complete checkpoint. Unset: every attempt starts from
	// scratch.
	// +optional
	Checkpoint *CheckpointSpec `json:"checkpoint,omitempty"`

	// Monitoring configures the ranks' metrics for Prometheus. Unset: no metrics.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`

	// RunPolicy sets the job's limits, cleanup and scheduling.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitzero"`

	// Rehearsal makes the job a rehearsal: the operator ends its attempts in several ways, and checks that the
	// trainer saves and resumes. Immutable. Unset: no rehearsal.
	// +optional
	Rehearsal *RehearsalPolicy `json:"rehearsal,omitempty"`

	// ManagedBy is the controller that runs the job, a domain-prefixed path of at most 63 characters.
	// Immutable. Unset, or mlplatform.example.com/trainingjob-operator: this operator.
	// kueue.x-k8s.io/multikueue: Kueue dispatches the job to another cluster and mirrors its status. The
	// operator ignores jobs with other values.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManagedBy string `json:"managedBy,omitempty"`
}

// ConfigMapReference names a ConfigMap in the job's namespace.
type ConfigMapReference struct {
	// Name of the ConfigMap, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a ConfigMap: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// NetworkingSpec configures the communication between ranks.
type NetworkingSpec struct {
	// Backend of collective operations, in every container as DISTRIBUTED_BACKEND; the program must pass it
	// to its framework. Unset: no variable.
	// +optional
	Backend CollectiveBackend `json:"backend,omitempty"`
	// MasterPort is the port on which the ranks meet, such as MASTER_PORT of pytorch: 1024 to 65535. Default:
	// the trainer's port named rendezvous or as in Kubeflow, else the framework's default.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	MasterPort *int32 `json:"masterPort,omitempty"`
	// NCCL variables of every container, at most 64, without the prefix NCCL_: {DEBUG: INFO, SOCKET_IFNAME:
	// eth0}.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NCCL map[string]string `json:"nccl,omitempty"`
}

// MonitoringSpec configures the ranks' metrics for Prometheus. Pods get the annotations prometheus.io/scrape,
// port and path, trainers the port tj-metrics. If the cluster serves PodMonitors, the operator creates one
// with the job's name.
type MonitoringSpec struct {
	// Enabled turns the block on; default true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Port on which the trainer serves metrics over HTTP, 1 to 65535; default 9090.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Path of the metrics, at most 256 characters; default /metrics.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[A-Za-z0-9._~/-]*$')",message="not the path of a URL: begin with a slash, and use letters, digits, '/', '.', '_', '~' and '-'"
	Path string `json:"path,omitempty"`
}

// ReplicaSpec describes the ranks of one role.
type ReplicaSpec struct {
	// Replicas is the number of ranks of this role, 1 to 10000; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is how many ranks of this role must start together, from 0 to replicas; default replicas.
	// It excludes runPolicy.schedulingPolicy.minAvailable. Schedulers native and coscheduling accept no
	// partial gangs of several roles.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// RestartPolicy of this role; default spec.restartPolicy. Roles can differ only with restartScope Rank.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Template of this role's pods. The trainer is the container named trainer, else the one with Kubeflow's
	// name for the framework, else the first. Its end is the rank's end: 30 s later the operator deletes a pod
	// whose other containers still run.
	Template corev1.PodTemplateSpec `json:"template"`
}
