package v1alpha1

import corev1 "k8s.io/api/core/v1"

// RunPolicy sets the job's limits, cleanup and scheduling.
type RunPolicy struct {
	// Suspend deletes every pod and releases all quota while true; default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// CleanPodPolicy selects the pods to delete when the job has finished; default Running.
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// TTLSecondsAfterFinished is the time in seconds from the job's end to its deletion, at least 0. Unset:
	// never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// ActiveDeadlineSeconds is the maximum time in phase Running in seconds, at least 1, over all attempts.
	// Then the job fails. Unset: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ExpectedSeconds is how long the job probably runs, from 1 to 31536000, over all attempts. It never ends
	// a job: forecasts use it where no steps are reported. Unset: unknown.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	ExpectedSeconds *int64 `json:"expectedSeconds,omitempty"`
	// BackoffLimit is the same as spec.backoffLimit, in Kubeflow's place. Set only one of the two.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// RestartScope decides what a failure restarts. Default: Rank with a restartPolicy Always or an
	// elasticPolicy, else Gang.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// SchedulingPolicy configures how the gang is scheduled.
	// +optional
	SchedulingPolicy SchedulingPolicy `json:"schedulingPolicy,omitzero"`
	// Liveness configures what counts as a hang, and what the operator does about it.
	// +optional
	Liveness *LivenessPolicy `json:"liveness,omitempty"`
}

// SchedulingPolicy configures how the gang is scheduled.
type SchedulingPolicy struct {
	// Scheduler that places the gang. Default: the operator's configuration, else the first that the cluster
	// serves. It is fixed while the job is queued or runs.
	// +optional
	Scheduler SchedulerName `json:"scheduler,omitempty"`
	// Queue of the gang, at most 253 characters. Default: the label kueue.x-k8s.io/queue-name (kueue only),
	// else the annotation scheduling.volcano.sh/queue-name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a queue: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Queue string `json:"queue,omitempty"`
	// MinAvailable is how many ranks must start together, from 1 to the number of ranks. Default:
	// spec.elasticPolicy.minReplicas, else all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// MinResources that must be free for the gang to start. Default and minimum: the sum over the first
	// minAvailable ranks, in the order leader, servers, Workers, Evaluators. Set more for injected sidecars
	// or devices that no rank requests.
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
	// PriorityClass of the gang and its pods, at most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PriorityClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	PriorityClass string `json:"priorityClass,omitempty"`
	// Topology places ranks by the domains of a node label.
	// +optional
	Topology *TopologyHint `json:"topology,omitempty"`
	// ScheduleTimeoutSeconds is how long the gang can be queued, at least 1. Then the operator requeues it
	// after a backoff. Unset: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
	// Backfill is Never or Lent (default Never). Lent: the gang may start in capacity that the operator keeps
	// for another gang of the same or a higher priority. When that gang needs it, the operator requests a
	// checkpoint and requeues this one. It needs spec.checkpoint.
	// +optional
	Backfill BackfillPolicy `json:"backfill,omitempty"`
}

// TopologyHint places ranks by the domains of a node label. Pack and Spread never prevent a gang from
// starting; Within does.
// +kubebuilder:validation:XValidation:rule="self.mode != 'Within' || has(self.key)",message="mode Within needs a key: the node label whose domains are meant"
type TopologyHint struct {
	// Mode is Pack, Spread or Within.
	Mode TopologyMode `json:"mode"`
	// Key of the node label with the domains, at most 253 characters. Required with Within; default
	// topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="not the key of a label: write one such as topology.kubernetes.io/zone or kubernetes.io/hostname"
	Key string `json:"key,omitempty"`
}

// ElasticPolicy lets ranks leave and join while the gang trains. torchrun renumbers the ranks through a c10d
// rendezvous at rank 0 and restarts their processes. It implies restartScope Rank. Without a Master, the job
// succeeds when Worker 0 exits 0.
type ElasticPolicy struct {
	// MinReplicas is the number of ranks with which training can continue, from 1 to the number of ranks. It
	// is the default and minimum of runPolicy.schedulingPolicy.minAvailable. When a rank leaves, the others
	// restart their processes, at most backoffLimit times.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinReplicas int32 `json:"minReplicas"`
}

// RestartPolicy decides what the exit of a rank means for the job.
// +kubebuilder:validation:Enum=Never;OnFailure;Always;ExitCode
type RestartPolicy string

const (
	// RestartNever fails the job at the first failure.
	RestartNever RestartPolicy = "Never"
	// RestartOnFailure restarts after a non-zero exit and counts it against backoffLimit. The default.
	RestartOnFailure RestartPolicy = "OnFailure"
	// RestartAlways restarts the container after every exit, for roles that serve others. It needs
	// restartScope Rank.
	RestartAlways RestartPolicy = "Always"
	// RestartExitCode fails the job on exit codes 1 to 127 and restarts on 128 to 255.
	RestartExitCode RestartPolicy = "ExitCode"
)

// RestartScope decides what a failure restarts.
// +kubebuilder:validation:Enum=Gang;Rank
type RestartScope string

const (
	// ScopeGang restarts the gang as a unit, in a new attempt.
	ScopeGang RestartScope = "Gang"
	// ScopeRank lets the kubelet restart the failed container in place, for elastic trainers such as
	// torchrun. Restarts within 10 minutes of the loss of a rank do not count against backoffLimit.
	ScopeRank RestartScope = "Rank"
)

// SuccessPolicy decides which ranks must exit 0 for the job to succeed. Scheduler, Server, PS and Evaluator
// never count.
// +kubebuilder:validation:Enum=Leader;AllWorkers
type SuccessPolicy string

const (
	// SuccessLeader requires the leader to exit 0; without one, the first Worker.
	SuccessLeader SuccessPolicy = "Leader"
	// SuccessAllWorkers requires every Worker and the leader to exit 0.
	SuccessAllWorkers SuccessPolicy = "AllWorkers"
)

// CleanPodPolicy selects the pods to delete when the job has finished.
// +kubebuilder:validation:Enum=All;Running;None
type CleanPodPolicy string

const (
	// CleanPodAll deletes every pod and the Service.
	CleanPodAll CleanPodPolicy = "All"
	// CleanPodRunning deletes running pods and the Service. Ended pods keep their logs. The default.
	CleanPodRunning CleanPodPolicy = "Running"
	// CleanPodNone deletes only running pods.
	CleanPodNone CleanPodPolicy = "None"
)

// SchedulerName names a gang scheduler.
// +kubebuilder:validation:Enum=volcano;kueue;coscheduling;native
type SchedulerName string

const (
	// SchedulerVolcano is Volcano, with PodGroups and Queues.
	SchedulerVolcano SchedulerName = "volcano"
	// SchedulerKueue is Kueue, with Workloads. It admits gangs; the operator's configuration selects the
	// scheduler that places them.
	SchedulerKueue SchedulerName = "kueue"
	// SchedulerCoscheduling is the coscheduling plugin of scheduler-plugins, with PodGroups and without
	// queues.
	SchedulerCoscheduling SchedulerName = "coscheduling"
	// SchedulerNative is the gang scheduling of kube-scheduler, without queues.
	SchedulerNative SchedulerName = "native"
)

// TopologyMode is the distance between ranks.
// +kubebuilder:validation:Enum=Pack;Spread;Within
type TopologyMode string

const (
	// TopologyPack prefers nodes in the same domain, such as a rack.
	TopologyPack TopologyMode = "Pack"
	// TopologySpread prefers the domain with the fewest ranks of the job.
	TopologySpread TopologyMode = "Spread"
	// TopologyWithin requires nodes of one domain for all ranks. The gang waits until they fit into one.
	TopologyWithin TopologyMode = "Within"
)
