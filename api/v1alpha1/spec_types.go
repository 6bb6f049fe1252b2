package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Framework decides which variables tell a rank where the others are. Its values come from pkg/framework, by
// `make generate`.
type Framework string

const (
	// FrameworkMPI lets a Launcher start the processes of Open MPI, Intel MPI or MPICH on the Workers, by ssh.
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
	// FrameworkXGBoost gives every rank the place of the tracker, its number and the number of ranks.
	FrameworkXGBoost Framework = "xgboost"
	// FrameworkCustom gives every rank its number, the number of ranks and the leader's host name, under
	// names that belong to no framework.
	FrameworkCustom Framework = "custom"
)

// Role is a kind of rank. The names are Kubeflow's, so that its replica specs can be pasted in.
type Role string

const (
	// RoleMaster leads the gang: its one rank is rank 0, and its exit decides whether the job has succeeded.
	RoleMaster Role = "Master"
	// RoleChief leads as Master does, under TensorFlow's name.
	RoleChief Role = "Chief"
	// RoleLauncher leads as Master does, under MPI's name.
	RoleLauncher Role = "Launcher"
	// RoleScheduler serves the other ranks; its exit 0 does not decide whether the job has succeeded. It is
	// ended when the job has.
	RoleScheduler Role = "Scheduler"
	// RoleServer serves the other ranks, as Scheduler does.
	RoleServer Role = "Server"
	// RolePS is a parameter server. It serves the other ranks, as Scheduler does.
	RolePS Role = "PS"
	// RoleWorker trains. Without a leader, the job succeeds when every Worker has exited 0; with
	// spec.elasticPolicy, when Worker 0 has.
	RoleWorker Role = "Worker"
	// RoleEvaluator evaluates the model. It comes last in rank order and does not decide whether the job has
	// succeeded. When the job has, an Evaluator that still runs is ended: its template's
	// terminationGracePeriodSeconds is the time that it has for a last evaluation.
	RoleEvaluator Role = "Evaluator"
)

// RestartPolicy decides what the exit of a rank means for the job. RestartScope decides what is restarted.
// +kubebuilder:validation:Enum=Never;OnFailure;Always;ExitCode
type RestartPolicy string

const (
	// RestartNever fails the job at the first failure.
	RestartNever RestartPolicy = "Never"
	// RestartOnFailure, the default, restarts after a non-zero exit and spends one of backoffLimit.
	RestartOnFailure RestartPolicy = "OnFailure"
	// RestartAlways makes the kubelet restart the container whatever its exit code, for roles that serve
	// others. It needs restartScope Rank, and implies it where no scope is set.
	RestartAlways RestartPolicy = "Always"
	// RestartExitCode fails the job on exit codes 1 to 127 and restarts the gang on 128 to 255.
	RestartExitCode RestartPolicy = "ExitCode"
)

// RestartScope is what a failure restarts.
// +kubebuilder:validation:Enum=Gang;Rank
type RestartScope string

const (
	// ScopeGang ends the attempt when a rank fails; the operator restarts the whole gang.
	ScopeGang RestartScope = "Gang"
	// ScopeRank lets the kubelet restart the failed container in place, for elastic trainers such as torchrun.
	ScopeRank RestartScope = "Rank"
)

// CleanPodPolicy decides which pods are deleted when the job has finished. Pods that still run always are: a
// finished job holds no quota.
// +kubebuilder:validation:Enum=All;Running;None
type CleanPodPolicy string

const (
	// CleanPodAll deletes every pod and the Service.
	CleanPodAll CleanPodPolicy = "All"
	// CleanPodRunning, the default, deletes pods that still run, and the Service. Ended pods keep their logs.
	CleanPodRunning CleanPodPolicy = "Running"
	// CleanPodNone deletes pods that still run, and nothing else.
	CleanPodNone CleanPodPolicy = "None"
)

// SchedulerName names a gang scheduler.
// +kubebuilder:validation:Enum=volcano;kueue;coscheduling;native
type SchedulerName string

const (
	// SchedulerVolcano is Volcano, by its PodGroups and Queues.
	SchedulerVolcano SchedulerName = "volcano"
	// SchedulerKueue is Kueue, by its Workloads. It admits gangs; the operator's configuration names what
	// places them.
	SchedulerKueue SchedulerName = "kueue"
	// SchedulerCoscheduling is the coscheduling plugin of scheduler-plugins, by its PodGroups. It has no queues.
	SchedulerCoscheduling SchedulerName = "coscheduling"
	// SchedulerNative is Kubernetes' own gang scheduling in kube-scheduler. It has no queues.
	SchedulerNative SchedulerName = "native"
)

// SuccessPolicy decides which ranks must exit 0 for the job to succeed. Ranks that serve others (Scheduler,
// Server, PS) and Evaluators never count.
// +kubebuilder:validation:Enum=Leader;AllWorkers
type SuccessPolicy string

const (
	// SuccessLeader: the one rank of Master, Chief or Launcher; without such a role, the first Worker.
	SuccessLeader SuccessPolicy = "Leader"
	// SuccessAllWorkers: every Worker, and the leader if there is one.
	SuccessAllWorkers SuccessPolicy = "AllWorkers"
)

// SecurityProfile is a set of defaults for the security contexts of the ranks' pods.
// +kubebuilder:validation:Enum=NonRoot
type SecurityProfile string

// SecurityNonRoot is what the Pod Security Standard "restricted" asks for: no root (runAsNonRoot; user, group
// and fsGroup 1000), no privilege escalation, no capabilities, and the runtime's seccomp profile.
const SecurityNonRoot SecurityProfile = "NonRoot"

// CollectiveBackend does the ranks' collective operations, under torch.distributed's names.
// +kubebuilder:validation:Enum=nccl;gloo;mpi;ucc
type CollectiveBackend string

const (
	// BackendNCCL is NVIDIA's library, or AMD's RCCL, between GPUs.
	BackendNCCL CollectiveBackend = "nccl"
	// BackendGloo works between CPUs.
	BackendGloo CollectiveBackend = "gloo"
	// BackendMPI is the MPI library that the framework was built with.
	BackendMPI CollectiveBackend = "mpi"
	// BackendUCC is the Unified Collective Communication library.
	BackendUCC CollectiveBackend = "ucc"
)

// TopologyMode is how the ranks should lie to each other.
// +kubebuilder:validation:Enum=Pack;Spread
type TopologyMode string

const (
	// TopologyPack prefers nodes of the domain in which other ranks of the job are: the same rack, say.
	TopologyPack TopologyMode = "Pack"
	// TopologySpread prefers the domain with the fewest ranks of the job.
	TopologySpread TopologyMode = "Spread"
)

// TrainingJobSpec describes the gang in one of two forms: the simple form (image, command, replicas and so
// on) for identical ranks of role Worker, or replicaSpecs for roles with pod templates.
//
// docs/api.md lists the rules between fields, and what may change when.
type TrainingJobSpec struct {
	// Framework that the ranks run. It decides which variables tell a rank where the others are.
	Framework Framework `json:"framework"`
	// FrameworkVersion that the image holds, such as 2.1 or 2.1.0-cu121: major and minor number, then what else
	// there is, at most 32 characters. Every pod has it as label mlplatform.example.com/framework-version. One
	// that is too old for what the operator tells its ranks is refused. Absent: nothing is checked.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,4}[.][0-9]{1,4}([.-][0-9A-Za-z]+)*$')",message="not a version: write the major and the minor number, such as 2.1 or 2.1.0-cu121"
	FrameworkVersion string `json:"frameworkVersion,omitempty"`

	// Image of every rank's container. Required in the simple form.
	// +optional
	Image string `json:"image,omitempty"`
	// Command of every rank: the program and its first arguments, not run in a shell. Required in the simple
	// form.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// Args are appended to command. Simple form.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// Env of every rank, one entry per name. It may refer to the variables that describe the gang, as
	// $(RANK), and overrides them. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom adds the keys of ConfigMaps and Secrets to every rank's environment. Simple form.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Replicas is the number of ranks, from 1 to 10000; default 1. Simple form.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of every rank. An extended resource (nvidia.com/gpu) given only in requests is copied to
	// limits, since the API server requires them to be equal. Simple form.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// Volumes that volumeMounts can mount. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// VolumeMounts of every rank's container, one per mountPath. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// NodeSelector restricts the ranks to nodes that carry all of these labels. Simple form.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations let the ranks run on nodes with matching taints. Simple form.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity of the ranks to nodes and to other pods. Simple form.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// ImagePullSecrets name the Secrets of the job's namespace with which its images are pulled. Simple form.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// ServiceAccountName that the ranks run as; default is the namespace's "default". Simple form.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// SecurityContext of the ranks' pods: user, groups, seccomp profile and so on. Simple form.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// ReplicaSpecs describes each role, by its name: Master, Chief, Launcher, Scheduler, Server, PS, Worker or
	// Evaluator. One rank at most leads (Master, Chief or Launcher). It excludes every field of the simple form.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=10
	ReplicaSpecs map[Role]ReplicaSpec `json:"replicaSpecs,omitempty"`

	// ElasticPolicy lets the gang train with the ranks that are there, as torchrun can. Absent: with all of them
	// or not at all. Framework pytorch.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`

	// SharedMemory is the size of /dev/shm in every trainer, a file system in memory through which data loaders
	// and NCCL exchange what they share: at least 0. What is in it counts towards the container's memory limit.
	// Default: 2Gi where the trainer requests GPUs. 0, or no GPUs: what the container runtime gives, mostly
	// 64 MiB. A trainer that mounts something at /dev/shm itself keeps that.
	// +optional
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty"`
	// SecurityProfile of all containers of the ranks' pods. It fills in what the job's own security contexts
	// leave open. Absent: nothing is filled in.
	// +optional
	SecurityProfile SecurityProfile `json:"securityProfile,omitempty"`
	// Networking is how the ranks talk to each other.
	// +optional
	Networking NetworkingSpec `json:"networking,omitzero"`

	// SuccessPolicy decides which ranks must exit 0 for the job to succeed. Default: the leader (Master, Chief
	// or Launcher); without such a role, every Worker.
	// +optional
	SuccessPolicy SuccessPolicy `json:"successPolicy,omitempty"`
	// RestartPolicy of every role that sets none itself; default OnFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// BackoffLimit is the number of failures that are answered with a restart, at least 0; default 3.
	// Preemptions, drains and lost nodes never count. Set it here or in runPolicy, not in both.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// Hyperparameters by name, at most 64: texts of at most 1024 bytes, numbers, and booleans. Every container
	// gets each as HYPERPARAM_<NAME> (upper case; anything but letters and digits becomes _), and all of them as
	// one JSON object, with their types, in the file that HYPERPARAMETERS_FILE names. A number that must keep
	// its digits as they are written (1.10) is a text: quote it.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MaxProperties=64
	Hyperparameters map[string]HyperparameterValue `json:"hyperparameters,omitempty"`
	// HyperparametersFrom names a ConfigMap of the job's namespace. Every container gets each of its keys as
	// HYPERPARAM_<KEY>, the key as it is spelt; one of the same name in hyperparameters wins. The kubelet reads
	// it when it starts a container, and starts none before it exists; the operator never reads it, so the file
	// of HYPERPARAMETERS_FILE does not have its keys.
	// +optional
	HyperparametersFrom *ConfigMapReference `json:"hyperparametersFrom,omitempty"`

	// MPI says how mpirun starts the processes. Framework mpi only.
	// +optional
	MPI *MPISpec `json:"mpi,omitempty"`

	// Checkpoint lets the gang resume from its latest complete checkpoint. Absent: every attempt starts from
	// scratch.
	// +optional
	Checkpoint *CheckpointSpec `json:"checkpoint,omitempty"`

	// Monitoring says where the ranks serve metrics for Prometheus. Absent: nowhere.
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`

	// RunPolicy sets the job's limits, what happens when it ends, and how it is scheduled.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitzero"`

	// ManagedBy names the controller that runs the job, as a domain-prefixed path of at most 63 characters; it
	// never changes. Absent, or mlplatform.example.com/trainingjob-operator: this operator.
	// kueue.x-k8s.io/multikueue: Kueue dispatches the job to another cluster, and its status is mirrored here.
	// With any other value the operator leaves the job alone.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ManagedBy string `json:"managedBy,omitempty"`
}

// ElasticPolicy is how a gang trains whose ranks come and go: torchrun numbers those that are there anew,
// through a rendezvous of backend c10d at rank 0, and restarts their processes. It implies restartScope Rank.
// Without a Master, the job succeeds when Worker 0 has exited 0.
type ElasticPolicy struct {
	// MinReplicas is the number of ranks with which the training can go on, from 1 to the number of ranks. It is
	// also the default of runPolicy.schedulingPolicy.minAvailable, which must not be less.
	//
	// torchrun does not know why a rank left: each time, those that stay restart their processes, as often as
	// backoffLimit allows, and then their containers end. Of these, the one that is restarted most counts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinReplicas int32 `json:"minReplicas"`
}

// ConfigMapReference names a ConfigMap in the namespace of the job.
type ConfigMapReference struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a ConfigMap: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// NetworkingSpec is how the ranks talk to each other.
type NetworkingSpec struct {
	// Backend of the collective operations. Every container gets it as DISTRIBUTED_BACKEND, which the program
	// hands to its framework, as in init_process_group(os.environ["DISTRIBUTED_BACKEND"]). Absent: no variable.
	// +optional
	Backend CollectiveBackend `json:"backend,omitempty"`
	// MasterPort on which each rank listens for the others, rank 0 above all: MASTER_PORT of pytorch. From 1024
	// to 65535. Default: the port of that name in the trainer's container, else the framework's.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	MasterPort *int32 `json:"masterPort,omitempty"`
	// NCCL settings by their names without NCCL_, at most 64: {DEBUG: INFO, SOCKET_IFNAME: eth0}. Every
	// container gets each as a variable.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NCCL map[string]string `json:"nccl,omitempty"`
}

// MonitoringSpec is where the ranks serve metrics for Prometheus. Each pod gets the annotations
// prometheus.io/scrape, port and path, and its trainer the port by the name tj-metrics. Where the cluster
// serves PodMonitors of the Prometheus Operator (monitoring.coreos.com/v1), the job also gets one of its own
// name.
type MonitoringSpec struct {
	// Enabled, default true. With false the whole block is ignored.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Port on which the trainer serves metrics over HTTP, from 1 to 65535; default 9090.
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

// ReplicaSpec is one role of the full form.
type ReplicaSpec struct {
	// Replicas is the number of ranks of this role, from 1 to 10000; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is how many ranks of this role are among those that start together or not at all, from 0 to
	// replicas; default all of them. Only without runPolicy.schedulingPolicy.minAvailable, which counts ranks
	// whatever their role. Schedulers native and coscheduling count so, too, and take no gang of several roles
	// that may start with fewer than all ranks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// RestartPolicy of this role; default spec.restartPolicy. Roles may differ only under restartScope Rank.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Template of this role's pods. The trainer is the container named "trainer", or as Kubeflow names it for
	// the framework (such as "pytorch"), else the first one.
	Template corev1.PodTemplateSpec `json:"template"`
}

// RunPolicy sets the job's limits, what happens when it ends, and how it is scheduled.
type RunPolicy struct {
	// Suspend true deletes every pod and releases all quota; false queues the gang again. Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// CleanPodPolicy decides which pods are deleted when the job has finished; default Running.
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// TTLSecondsAfterFinished is how many seconds after it finished the job is deleted, at least 0. Absent:
	// never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ActiveDeadlineSeconds fails the job once its gang has run for that many seconds, at least 1, summed over
	// all attempts. Only the time in phase Running counts (see status.work.runningSeconds): not the time in
	// which the gang is queued, starts, is drained, waits for the end of a backoff or is suspended. Absent: no
	// deadline.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// BackoffLimit is spec.backoffLimit in the place where Kubeflow has it. Set only one of the two.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// RestartScope is what a failure restarts: Gang, or the failed Rank alone. Default Gang, but Rank where a
	// restartPolicy is Always or spec.elasticPolicy is set.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// SchedulingPolicy is what the gang asks of the scheduler: a queue, a priority, a minimum of ranks.
	// +optional
	SchedulingPolicy SchedulingPolicy `json:"schedulingPolicy,omitzero"`
}

// SchedulingPolicy is what the gang asks of the scheduler.
type SchedulingPolicy struct {
	// Scheduler that places the gang. Default: the operator's configuration, else the first that the cluster
	// serves. status.scheduling records the choice, which does not change while the job is queued or runs.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// Queue to submit to, at most 253 characters. Default: the label kueue.x-k8s.io/queue-name, which no other
	// scheduler than kueue may have, else the annotation scheduling.volcano.sh/queue-name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a queue: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Queue string `json:"queue,omitempty"`
	// MinAvailable is how many ranks start together or not at all, from 1 to the number of ranks; default
	// spec.elasticPolicy.minReplicas, else all of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// MinResources that must be free for the gang to start. Default, and the least of each: the sum over its
	// first minAvailable ranks, in the order leader, servers, Workers, Evaluators. Give more where sidecars that
	// a webhook injects, or devices that no rank requests, must be free too.
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
	// PriorityClass of the gang and its pods, at most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PriorityClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	PriorityClass string `json:"priorityClass,omitempty"`
	// Topology is a hint on which nodes the ranks should lie; the scheduler follows it where it can.
	// +optional
	Topology *TopologyHint `json:"topology,omitempty"`
	// ScheduleTimeoutSeconds is how many seconds the gang may be queued, at least 1. Then it gives up its
	// place and is queued again after a backoff. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// TopologyHint is how the ranks should lie to each other. It never keeps a gang from starting.
type TopologyHint struct {
	// Mode is Pack, close together, or Spread, apart.
	Mode TopologyMode `json:"mode"`
	// Key of the nodes' label whose values are the domains, at most 253 characters; default
	// topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="not the key of a label: write one such as topology.kubernetes.io/zone or kubernetes.io/hostname"
	Key string `json:"key,omitempty"`
}
