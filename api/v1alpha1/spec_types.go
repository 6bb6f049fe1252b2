package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
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

// HyperparameterValue is text: quote numbers.
// +kubebuilder:validation:MaxLength=1024
type HyperparameterValue string

// TrainingJobSpec describes the gang in one of two forms: the simple form (image, command, replicas and so
// on) for identical ranks of role Worker, or replicaSpecs for roles with pod templates.
//
// docs/api.md lists the rules between fields, and what may change when.
type TrainingJobSpec struct {
	// Framework that the ranks run. It decides which variables tell a rank where the others are.
	Framework Framework `json:"framework"`

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

	// RestartPolicy of every role that sets none itself; default OnFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// BackoffLimit is the number of failures that are answered with a restart, at least 0; default 3.
	// Preemptions, drains and lost nodes never count. Set it here or in runPolicy, not in both.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// Hyperparameters by name, at most 64. Every container gets each as HYPERPARAM_<NAME> (upper case;
	// anything but letters and digits becomes _), and all of them as JSON in the file that
	// HYPERPARAMETERS_FILE names.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Hyperparameters map[string]HyperparameterValue `json:"hyperparameters,omitempty"`

	// MPI says how mpirun starts the processes. Framework mpi only.
	// +optional
	MPI *MPISpec `json:"mpi,omitempty"`

	// Checkpoint lets the gang resume from its latest complete checkpoint. Absent: every attempt starts from
	// scratch.
	// +optional
	Checkpoint *CheckpointSpec `json:"checkpoint,omitempty"`

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

// ReplicaSpec is one role of the full form.
type ReplicaSpec struct {
	// Replicas is the number of ranks of this role, from 1 to 10000; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
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
	// ScheduleTimeoutSeconds is how many seconds the gang may be queued, at least 1. Then it gives up its
	// place and is queued again after a backoff. Absent: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}
