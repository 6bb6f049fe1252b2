package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Framework says what the ranks need to find each other. Its values come from pkg/framework, by `make generate`.
type Framework string

const (
	// FrameworkPyTorch gives every rank MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and torchrun's PET_* variables.
	FrameworkPyTorch Framework = "pytorch"
	// FrameworkCustom gives every rank its rank, the world size and the leader's host name, and no framework's own names.
	FrameworkCustom Framework = "custom"
)

// Role names a kind of rank. The names are Kubeflow's, so that its replica specs paste in.
type Role string

const (
	RoleMaster    Role = "Master"
	RoleChief     Role = "Chief"
	RoleLauncher  Role = "Launcher"
	RoleScheduler Role = "Scheduler"
	RoleServer    Role = "Server"
	RolePS        Role = "PS"
	RoleWorker    Role = "Worker"
	RoleEvaluator Role = "Evaluator"
)

// RestartPolicy says what a rank's end means for the gang. See RestartScope for who restarts what.
// +kubebuilder:validation:Enum=Never;OnFailure;Always;ExitCode
type RestartPolicy string

const (
	// RestartNever: the first failure fails the job.
	RestartNever RestartPolicy = "Never"
	// RestartOnFailure: a non-zero exit restarts the gang and spends one of backoffLimit. The default.
	RestartOnFailure RestartPolicy = "OnFailure"
	// RestartAlways: the kubelet restarts the container whatever its exit code; for service roles. Needs restartScope Rank.
	RestartAlways RestartPolicy = "Always"
	// RestartExitCode: exit codes 1-127 are permanent and fail the job, 128-255 restart the gang.
	RestartExitCode RestartPolicy = "ExitCode"
)

// RestartScope says what a failure restarts.
// +kubebuilder:validation:Enum=Gang;Rank
type RestartScope string

const (
	// ScopeGang: a failed rank ends the attempt; the operator restarts the whole gang.
	ScopeGang RestartScope = "Gang"
	// ScopeRank: the kubelet restarts the failed container in place (torchrun elastic and the like).
	ScopeRank RestartScope = "Rank"
)

// CleanPodPolicy says which pods go when the job has finished. Pods that still run always go: a finished job holds no
// quota.
// +kubebuilder:validation:Enum=All;Running;None
type CleanPodPolicy string

const (
	// CleanPodAll removes every pod and the Service.
	CleanPodAll CleanPodPolicy = "All"
	// CleanPodRunning removes pods that still run, and the Service; ended pods keep their logs. The default.
	CleanPodRunning CleanPodPolicy = "Running"
	// CleanPodNone removes pods that still run and nothing else.
	CleanPodNone CleanPodPolicy = "None"
)

// SchedulerName names a gang scheduler dialect.
// +kubebuilder:validation:Enum=volcano;kueue;coscheduling;native
type SchedulerName string

const (
	SchedulerVolcano      SchedulerName = "volcano"
	SchedulerKueue        SchedulerName = "kueue"
	SchedulerCoscheduling SchedulerName = "coscheduling"
	SchedulerNative       SchedulerName = "native"
)

// TrainingJobSpec is given in one of two forms: the simple one (image, command, replicas, ...: identical ranks of role
// Worker) or the full one (replicaSpecs: roles with pod templates).
//
// The rules between fields, and what may change when, are in rules.yaml beside this file.
type TrainingJobSpec struct {
	// Framework that the ranks run: it decides which rendezvous variables they get.
	Framework Framework `json:"framework"`

	// Image of the simple form.
	// +optional
	Image string `json:"image,omitempty"`
	// Command of the simple form: the program and its first arguments, not run in a shell.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Replicas of the simple form: the number of ranks, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of every rank of the simple form. An extended resource (nvidia.com/gpu) given only in requests is copied
	// to limits, since the API server demands that they are equal.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// SecurityContext of the pods.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`

	// ReplicaSpecs is the full form: Master, Chief, Launcher, Scheduler, Server, PS, Worker, Evaluator. Framework pytorch
	// knows Master (at most one rank) and Worker.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=10
	ReplicaSpecs map[Role]ReplicaSpec `json:"replicaSpecs,omitempty"`

	// RestartPolicy of every role that names none itself; default OnFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// BackoffLimit is how many failures are answered by a restart, default 3. A preemption, a drain or a lost node never
	// counts. Give it here or in runPolicy, not in both.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// Hyperparameters by name: every container gets each as HYPERPARAM_<NAME> (upper case, what is no letter or digit becomes _),
	// and all of them as JSON in the file that HYPERPARAMETERS_FILE names.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Hyperparameters map[string]HyperparameterValue `json:"hyperparameters,omitempty"`

	// Checkpoint lets the gang resume from its latest complete checkpoint. Absent: every attempt starts anew.
	// +optional
	Checkpoint *CheckpointSpec `json:"checkpoint,omitempty"`

	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitzero"`
}

// ReplicaSpec is one role of the full form.
type ReplicaSpec struct {
	// Replicas of this role, default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// RestartPolicy of this role; roles may differ only under restartScope Rank.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// Template of this role's pods. The first container is the trainer, unless one is named as Kubeflow names it for
	// the framework ("pytorch").
	Template corev1.PodTemplateSpec `json:"template"`
}

// RunPolicy is how the job lives and ends.
type RunPolicy struct {
	// Suspend: true gives every pod and all quota back; false queues the gang again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// CleanPodPolicy, default Running.
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// TTLSecondsAfterFinished: the job is deleted that long after it finished; absent: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ActiveDeadlineSeconds: the job fails that long after startTime, its first time Running: the first wait in the queue is
	// not counted, later waits are.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// BackoffLimit in Kubeflow's place; see spec.backoffLimit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// RestartScope: Gang (default) or Rank (default where restartPolicy is Always).
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// +optional
	SchedulingPolicy SchedulingPolicy `json:"schedulingPolicy,omitzero"`
}

// SchedulingPolicy is what the gang asks of the cluster's scheduler.
type SchedulingPolicy struct {
	// Scheduler: volcano, native or coscheduling; default: the operator's configuration, else what the cluster serves. The
	// choice is recorded in status and does not change while the job is queued or runs.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// Queue; else the label kueue.x-k8s.io/queue-name, else the annotation scheduling.volcano.sh/queue-name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a queue: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Queue string `json:"queue,omitempty"`
	// MinAvailable: how many ranks must be placed together before any starts; default all of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// MinResources of the gang; default the sum over its first minAvailable ranks (leader, then PS, then Workers).
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
	// PriorityClass of the group and its pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PriorityClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	PriorityClass string `json:"priorityClass,omitempty"`
	// ScheduleTimeoutSeconds: a gang that is not placed that long after it was queued gives its place back and queues
	// again after a backoff; absent: it waits for ever.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// TrainingJob is a gang of ranks that train one model: all of them run, or none.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=trainingjobs,singular=trainingjob,shortName={tj,trainjob},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Gang",type=string,JSONPath=".status.gang"
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=".status.gpus"
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=".status.scheduling.queue"
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=".status.progress.percent",description="percent of all steps"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.scheduling.blocker.reason"
// +kubebuilder:printcolumn:name="Framework",type=string,JSONPath=".spec.framework",priority=1
// +kubebuilder:printcolumn:name="Scheduler",type=string,JSONPath=".status.scheduling.scheduler",priority=1
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=".status.attempt",priority=1
// +kubebuilder:printcolumn:name="Checkpoint",type=date,JSONPath=".status.checkpoint.latest.time",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type TrainingJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrainingJobSpec `json:"spec"`
	// +optional
	Status TrainingJobStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// TrainingJobList is a list of TrainingJobs.
type TrainingJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrainingJob `json:"items"`
}
