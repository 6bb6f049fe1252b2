// Package config reads and validates the operator's configuration.
//
// The configuration is one YAML file of kind OperatorConfiguration; docs/configuration.md lists its keys.
// Flags only set the file's path and the logging. Every key has a default, so an empty configuration is
// complete. An unknown key is an error that names the key.
package config

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// APIVersion and Kind of the file.
const (
	APIVersion = "config.mlplatform.example.com/v1alpha1"
	Kind       = "OperatorConfiguration"
)

// Off, as a bind address, turns a server off.
const Off = "0"

// OperatorConfiguration is the operator's configuration file.
type OperatorConfiguration struct {
	// APIVersion of the file: config.mlplatform.example.com/v1alpha1. Required.
	APIVersion string `json:"apiVersion"`
	// Kind of the file: OperatorConfiguration. Required.
	Kind string `json:"kind"`
	// WatchNamespaces are the namespaces whose TrainingJobs the operator manages: at most 100, all existing.
	// With them, the Helm chart grants rights only there and on cluster-scoped objects: see docs/install.md.
	// Default: all namespaces.
	WatchNamespaces []string `json:"watchNamespaces,omitempty"`
	// LeaderElection ensures that only one replica of the operator acts.
	LeaderElection LeaderElection `json:"leaderElection"`
	// Metrics is the Prometheus endpoint /metrics.
	Metrics Metrics `json:"metrics"`
	// Health is the endpoint of the probes /healthz and /readyz.
	Health Health `json:"health"`
	// Profiles is the endpoint /debug/pprof/ for CPU and memory profiles.
	Profiles Profiles `json:"profiles"`
	// Reports is the server that receives progress and checkpoints from rank 0 of each job. Without it, the
	// operator finds checkpoints only when pods end.
	Reports Reports `json:"reports"`
	// DefaultScheduler of jobs without a scheduler: volcano, kueue, native or coscheduling. Jobs with a Kueue
	// queue label use kueue where the cluster serves it. Default: the first of volcano, native and
	// coscheduling that the cluster serves.
	DefaultScheduler string `json:"defaultScheduler,omitempty"`
	// Schedulers holds the settings of each scheduler backend.
	Schedulers Schedulers `json:"schedulers"`
	// NodeAutoscaler is whether an autoscaler adds nodes for pending pods: detect, present or absent. Without
	// one, the operator creates no pods for a gang with a rank that fits on no node. Set present also if the
	// API server adds tolerations to pods. detect checks the API groups karpenter.sh, autoscaling.x-k8s.io
	// and autoscaling.openshift.io, and in any namespace the ConfigMap cluster-autoscaler-status and the Lease
	// cluster-autoscaler.
	NodeAutoscaler string `json:"nodeAutoscaler"`
	// GPUs are the resources that count as GPUs in status.gpus, GPU-seconds and the devices of a rank: names,
	// or patterns in which * matches any characters except a slash. A leading ! excludes names. Scheduling,
	// quotas and blockers do not depend on it.
	GPUs []string `json:"gpus"`
	// GPUDeviceClasses are the names of the device classes (dynamic resource allocation) whose devices count as
	// GPUs in status.gpus and GPU-seconds, each as one: at most 64.
	GPUDeviceClasses []string `json:"gpuDeviceClasses"`
	// GPUTolerations of all ranks that request GPUs: at most 16 tolerations, each with a key, such as {key:
	// nvidia.com/gpu, operator: Exists, effect: NoSchedule}. Changes take effect with a job's next attempt.
	// With MultiKueue, flavors with taints on worker clusters need spec.tolerations. Default: none.
	GPUTolerations []corev1.Toleration `json:"gpuTolerations,omitempty"`
	// Agent is the container next to the trainers of jobs with checkpoints.
	Agent Agent `json:"agent"`
	// MLflow configures the MLflow server that ranks use.
	MLflow MLflow `json:"mlflow"`
	// Blockers configures the reasons that waiting jobs report.
	Blockers Blockers `json:"blockers"`
	// Lifecycle limits how long gangs hold resources that they do not use.
	Lifecycle Lifecycle `json:"lifecycle"`
	// Preemption configures how the operator chooses victims for gangs that do not fit.
	Preemption Preemption `json:"preemption"`
	// Backfill configures capacity that the operator keeps for large gangs while smaller ones start.
	Backfill Backfill `json:"backfill"`
	// Liveness configures what the operator does about gangs that hang.
	Liveness Liveness `json:"liveness"`
	// Forecast configures estimates of when jobs start and end.
	Forecast Forecast `json:"forecast"`
	// Workers is the number of jobs that the operator reconciles at the same time, 1 to 100.
	Workers int `json:"workers"`
}

// Values of OperatorConfiguration.NodeAutoscaler.
const (
	AutoscalerDetect  = "detect"
	AutoscalerPresent = "present"
	AutoscalerAbsent  = "absent"
)

// SchedulerOfUnnamed is the scheduler of jobs that name neither one nor a Kueue queue; "" is the first that
// the cluster serves.
func (c OperatorConfiguration) SchedulerOfUnnamed() string {
	if c.DefaultScheduler == "" && c.Schedulers.Kueue.ManageJobsWithoutQueueName {
		return string(v1alpha1.SchedulerKueue)
	}
	return c.DefaultScheduler
}

// LeaderElection ensures that only one replica of the operator acts.
type LeaderElection struct {
	// Enabled requires a lease before the operator acts. Turn it off only if a single operator runs.
	Enabled bool `json:"enabled"`
	// Namespace of the lease. Default: that of the operator's pod, or trainingjob-system outside a pod.
	Namespace string `json:"namespace,omitempty"`
}

// Metrics is the Prometheus endpoint /metrics, and /metrics/jobs at the same address.
type Metrics struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// Secure serves over TLS, to clients with the right to GET the URL /metrics or /metrics/jobs. Without it,
	// both are plain HTTP without authentication.
	Secure bool `json:"secure"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key, such as a mounted Secret.
	// The operator reloads changed files. Default: a new certificate at each start, which no client can
	// verify. Only with secure.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Jobs configures /metrics/jobs, the series of each job.
	Jobs JobMetrics `json:"jobs"`
}

// JobMetrics configures /metrics/jobs.
type JobMetrics struct {
	// Limit is the maximum number of jobs with series (about 20 each), 0 (off) to 100000. Unfinished jobs
	// come first, then the youngest. trainingjob_jobs_left_out counts the others.
	Limit int `json:"limit"`
	// RankLimit is the maximum number of ranks with the series trainingjob_rank_info, 0 to 1000000. Only
	// ranks of gangs that hold nodes have it. trainingjob_ranks_left_out counts the others.
	RankLimit int `json:"rankLimit"`
}

// Health is the endpoint of the probes /healthz and /readyz.
type Health struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
}

// Profiles is the endpoint /debug/pprof/.
type Profiles struct {
	// BindAddress of the endpoint, as host:port on a loopback address, such as localhost:6060, for kubectl
	// port-forward. Clients can read names of jobs. "0" turns it off.
	BindAddress string `json:"bindAddress"`
}

// Reports is the server that receives progress and checkpoints from rank 0 of each job.
type Reports struct {
	// BindAddress of the server, as host:port or :port, such as :9443. "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// URL of the server for the ranks, such as https://trainingjob-reports.trainingjob-system.svc:9443:
	// https, a host and an optional port. Required if the server is on.
	URL string `json:"url,omitempty"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key for the URL's host, and
	// ca.crt with the certificates that the ranks trust: PEM, at most 64 KiB. The operator reloads changed
	// files. Required if the server is on.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Audience of the tokens in reports: 1 to 253 printable ASCII characters without spaces. Operators that
	// share a token issuer need different audiences.
	Audience string `json:"audience"`
	// Kubeflow lets the agent of rank 0 receive progress by the protocol of Kubeflow Trainer, which Hugging
	// Face's Trainer sends: see docs/checkpoints.md. Changes take effect with a job's next attempt.
	Kubeflow bool `json:"kubeflow"`
}

// On reports whether the server is on.
func (r Reports) On() bool { return r.BindAddress != Off }

// Schedulers holds the settings of each scheduler backend.
type Schedulers struct {
	// Allowed schedulers: volcano, kueue, native, coscheduling. A job with another scheduler waits with the
	// blocker SchedulerNotAllowed; queued and running jobs keep theirs. Set it if one of several schedulers
	// holds the quotas: the others bypass them. Default: all.
	Allowed []string `json:"allowed,omitempty"`
	// Volcano configures the backend of Volcano.
	Volcano Volcano `json:"volcano"`
	// Kueue configures the backend of Kueue.
	Kueue Kueue `json:"kueue"`
	// Native configures the backend of kube-scheduler's own gang scheduling.
	Native Native `json:"native"`
	// Coscheduling configures the backend of scheduler-plugins' Coscheduling.
	Coscheduling Coscheduling `json:"coscheduling"`
}

// Volcano configures the backend of Volcano.
type Volcano struct {
	// WaitForInqueue creates a gang's pods only when Volcano has set its PodGroup to Inqueue, so that queued
	// jobs have no pods. Without it a gang starts about a second (one scheduling session) earlier.
	WaitForInqueue bool `json:"waitForInqueue"`
	// SchedulerName of Volcano (its flag --scheduler-name): a DNS-1123 subdomain.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Kueue configures the backend of Kueue.
type Kueue struct {
	// Binder is the scheduler that places the pods of a gang that Kueue has admitted. default is the
	// cluster's default scheduler, which places pods one by one. native and coscheduling place the gang as a
	// unit, with the settings of schedulers.native and schedulers.coscheduling, and require that the cluster
	// serves them.
	Binder string `json:"binder,omitempty"`
	// ManageJobsWithoutQueueName must equal the setting in Kueue's configuration. If true, jobs without a
	// scheduler and a queue belong to Kueue and wait for a queue; defaultScheduler must be kueue or absent.
	// If false, the operator rejects jobs of Kueue without a queue.
	ManageJobsWithoutQueueName bool `json:"manageJobsWithoutQueueName,omitempty"`
}

// Values of Kueue.Binder.
const (
	BinderDefault      = "default"
	BinderNative       = "native"
	BinderCoscheduling = "coscheduling"
)

// Native configures the backend of kube-scheduler's own gang scheduling.
type Native struct {
	// SchedulerName of the kube-scheduler profile that places gangs: a DNS-1123 subdomain.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Coscheduling configures the backend of scheduler-plugins' Coscheduling.
type Coscheduling struct {
	// SchedulerName of the profile that runs Coscheduling: a DNS-1123 subdomain.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Blockers configures the reasons that waiting jobs report.
type Blockers struct {
	// NameOtherNamespaces names jobs of other namespaces that hold what a job waits for, in its status and
	// events. Without it, the operator reports only their sum.
	NameOtherNamespaces bool `json:"nameOtherNamespaces"`
}

// Agent is the container that runs next to the trainers of jobs with checkpoints.
type Agent struct {
	// Image of the agent, built by make images: at most 500 printable ASCII characters without spaces.
	// Without it, jobs with checkpoints wait with the blocker AgentNotConfigured.
	Image string `json:"image,omitempty"`
	// SearchPriorityClass of the pods that search a volume for the latest checkpoint: a PriorityClass with
	// preemptionPolicy Never, such as trainingjob-search of deploy/operator. Without it, these pods have the
	// default class and can preempt gangs of lower priority.
	SearchPriorityClass string `json:"searchPriorityClass,omitempty"`
}

// MLflow configures the MLflow server that ranks use.
type MLflow struct {
	// TrackingURI of the server for the ranks, such as http://mlflow.mlflow.svc:5000: http or https, a host,
	// an optional port and path, at most 253 characters, without credentials. Ranks get it as
	// MLFLOW_TRACKING_URI, with MLFLOW_EXPERIMENT_NAME and, if the run is known, MLFLOW_RUN_ID. Variables of
	// a container take precedence. Changes take effect with a job's next attempt. Default: no variables.
	TrackingURI string `json:"trackingURI,omitempty"`
}

// Lifecycle limits how long gangs hold resources that they do not use.
type Lifecycle struct {
	// KeepPlaceSeconds is the longest backoff during which a gang keeps its place in the queue and its
	// reserved capacity, 0 (never) to 86400. The backoff is 10 s after the first failure and doubles up to 6
	// minutes. The schedulers native and coscheduling keep no place.
	KeepPlaceSeconds int `json:"keepPlaceSeconds"`
	// StartTimeoutSeconds is how long a gang that has its nodes can take until it runs, 0 (no limit) to
	// 86400. Then the operator releases the nodes and requeues the gang after a backoff.
	StartTimeoutSeconds int `json:"startTimeoutSeconds"`
	// ForceDeleteAfterSeconds is how long after its grace period the operator deletes a pod by force if its
	// node is deleted or not ready: 0 (never), or 60 to 86400. Until then its gang cannot restart and keeps
	// its quota. If the node is only disconnected, two pods of a rank can then run at the same time.
	// Checkpoints are safe (each attempt has its own directory); other files are not. With 0, an admin must
	// delete the node or taint it with node.kubernetes.io/out-of-service. A pod that hangs on a ready node is
	// never deleted by force (blocker PodHangs).
	ForceDeleteAfterSeconds int `json:"forceDeleteAfterSeconds"`
}

// Preemption configures how the operator chooses victims for gangs that do not fit. docs/preemption.md
// describes it, and the annotations of priority classes.
type Preemption struct {
	// Mode is Off, DryRun or Broker. DryRun: status.scheduling.preemption of a waiting job lists the running
	// gangs of lower priority whose preemption costs least; the operator does not act on it. Broker: the
	// operator requests checkpoints from the victims and stops them, or reports to Kueue which gangs to
	// exempt, for gangs whose priority class names a waiting class.
	Mode PreemptionMode `json:"mode"`
	// MaxDelaySeconds is the longest time that a preemptor waits for its victims to save, 1 to 3600. Then the
	// operator stops them, saved or not. A PriorityClass can override it.
	MaxDelaySeconds int `json:"maxDelaySeconds"`
	// MinRunSeconds is how long a gang must have run before it can be a victim, 0 to 86400. If no other gangs
	// free enough capacity, this limit ends when the preemptor has waited for half of maxDelaySeconds. A
	// PriorityClass can override it.
	MinRunSeconds int `json:"minRunSeconds"`
	// MaxRounds is how often gangs yield to one attempt of a preemptor if other jobs take the freed capacity
	// first, 1 to 10. Only with mode Broker.
	MaxRounds int `json:"maxRounds"`
	// LossCapSeconds is the maximum unsaved training that counts as the cost of a victim, 60 to 86400. It
	// limits the protection of trainers that never save.
	LossCapSeconds int `json:"lossCapSeconds"`
	// UnknownStartSeconds is the assumed time until a restarted gang trains again, if its last start was not
	// measured, 0 to 86400. It counts for each GPU.
	UnknownStartSeconds int `json:"unknownStartSeconds"`
	// MaxPlans is the maximum number of waiting gangs with a plan at the same time, 1 to 64: those of the
	// highest priority, then the oldest.
	MaxPlans int `json:"maxPlans"`
}

// Backfill configures capacity that the operator keeps for large gangs while smaller ones start. Only gangs
// whose PriorityClass has the annotation mlplatform.example.com/reserve-after-seconds get a reservation.
type Backfill struct {
	// Mode is Off, DryRun or Reserve. DryRun: status.scheduling.reservation of such a gang reports what the
	// operator would keep. Modes other than Off require preemption.mode Broker.
	Mode BackfillMode `json:"mode"`
	// MaxReservations is the maximum number of reservations at a time, 1 to 4: for each scheduler, and with
	// Kueue for each ClusterQueue.
	MaxReservations int `json:"maxReservations"`
	// MaxSharePercent of the nodes is the maximum that is kept, 5 to 100.
	MaxSharePercent int `json:"maxSharePercent"`
	// MaxHoldSeconds is the longest time for which reservations hold back an attempt of a gang, 600 to 604800.
	// Then it passes all of them.
	MaxHoldSeconds int `json:"maxHoldSeconds"`
	// MaxAgeSeconds is when a reservation lapses, 3600 to 604800.
	MaxAgeSeconds int `json:"maxAgeSeconds"`
	// MarginPercent is added to the measured time after which a gang has ended, 0 to 200. A gang that runs
	// longer than that must leave when the capacity is needed.
	MarginPercent int `json:"marginPercent"`
}

// BackfillMode is a value of Backfill.Mode.
type BackfillMode string

// Values of Backfill.Mode.
const (
	BackfillOff     BackfillMode = "Off"
	BackfillDryRun  BackfillMode = "DryRun"
	BackfillReserve BackfillMode = "Reserve"
)

// UnmarshalJSON parses a mode, as that of PreemptionMode does.
func (m *BackfillMode) UnmarshalJSON(data []byte) error {
	return unmarshalMode(data, m, BackfillOff)
}

// Liveness configures what the operator does about gangs that hang, see runPolicy.liveness of the job. Modes
// other than Off require reports and agent.image.
type Liveness struct {
	// Mode of jobs with spec.checkpoint that set none: Off, Warn (report hangs, and the rank at fault) or Act
	// (also restart the gang from its latest checkpoint). Jobs of framework mpi stay Off. Changes between Off
	// and another mode take effect with a job's next attempt.
	Mode LivenessMode `json:"mode"`
	// MaxMode is the highest mode that any job can have: Off, Warn or Act. A higher mode of a job acts as this
	// one.
	MaxMode LivenessMode `json:"maxMode"`
}

// Forecast configures estimates of when jobs start and end. docs/when.md describes them.
type Forecast struct {
	// Mode is Off or On. On: status.scheduling of a job has estimatedStart and estimatedEnd. No decision of
	// the operator depends on them.
	Mode ForecastMode `json:"mode"`
	// HorizonSeconds bounds how far ahead a start is estimated, 3600 to 2592000.
	HorizonSeconds int `json:"horizonSeconds"`
	// Considered is the number of waiting gangs whose start is estimated, 16 to 1024: those that are served
	// first.
	Considered int `json:"considered"`
}

// ForecastMode is a value of Forecast.Mode.
type ForecastMode string

// Values of ForecastMode.
const (
	ForecastOff ForecastMode = "Off"
	ForecastOn  ForecastMode = "On"
)

// UnmarshalJSON parses a mode. In YAML 1.1, which Kubernetes' tools use, Off and On without quotes are
// booleans.
func (m *ForecastMode) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		*m = ForecastOn
		return nil
	}
	return unmarshalMode(data, m, ForecastOff)
}

// LivenessMode is a value of Liveness.Mode and Liveness.MaxMode.
type LivenessMode string

// Values of LivenessMode, from the weakest to the strongest.
const (
	LivenessOff  = LivenessMode(v1alpha1.LivenessOff)
	LivenessWarn = LivenessMode(v1alpha1.LivenessWarn)
	LivenessAct  = LivenessMode(v1alpha1.LivenessAct)
)

// UnmarshalJSON parses a mode, as that of PreemptionMode does.
func (m *LivenessMode) UnmarshalJSON(data []byte) error {
	return unmarshalMode(data, m, LivenessOff)
}

// PreemptionMode is a value of Preemption.Mode.
type PreemptionMode string

// Values of Preemption.Mode.
const (
	PreemptionOff    PreemptionMode = "Off"
	PreemptionDryRun PreemptionMode = "DryRun"
	PreemptionBroker PreemptionMode = "Broker"
)

// UnmarshalJSON parses a mode. In YAML 1.1, which Kubernetes' tools use, Off without quotes is the boolean
// false.
func (m *PreemptionMode) UnmarshalJSON(data []byte) error {
	return unmarshalMode(data, m, PreemptionOff)
}

func unmarshalMode[M ~string](data []byte, m *M, off M) error {
	if string(data) == "false" {
		*m = off
		return nil
	}
	var text string
	err := json.Unmarshal(data, &text)
	*m = M(text)
	return err
}
