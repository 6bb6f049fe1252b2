// Package config answers one question: what has the admin configured of the operator?
//
// The configuration is one YAML file of kind OperatorConfiguration; docs/configuration.md lists its keys.
// Flags only give the file's path and the logging. Every key has a default, so an empty configuration is
// complete. An unknown key is an error that names it, so no setting is silently ignored.
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
	// WatchNamespaces are the only namespaces whose TrainingJobs the operator runs: at most 100, each of which
	// must exist. It then needs rights on their objects, and on cluster-scoped objects, alone; the Helm chart
	// grants just these. What it cannot know then is said to be unknown: see docs/install.md. Several operators
	// may run in one cluster if no namespace is in the lists of two. None by default, which means all.
	WatchNamespaces []string `json:"watchNamespaces,omitempty"`
	// LeaderElection lets one of several replicas of the operator act.
	LeaderElection LeaderElection `json:"leaderElection"`
	// Metrics is the Prometheus endpoint /metrics.
	Metrics Metrics `json:"metrics"`
	// Health is the endpoint of the probes /healthz and /readyz.
	Health Health `json:"health"`
	// Profiles is the endpoint /debug/pprof/, with which `go tool pprof` shows what the operator's memory and
	// processor time are used for.
	Profiles Profiles `json:"profiles"`
	// Reports is the server to which rank 0 of each job reports progress and checkpoints. While it is off, jobs
	// train as they would with it, and checkpoints become known when their pods end.
	Reports Reports `json:"reports"`
	// DefaultScheduler of jobs that name none: volcano, kueue, native or coscheduling. A job with a Kueue queue
	// label gets kueue where the cluster serves it. By default any other gets the first of volcano, native and
	// coscheduling that the cluster serves.
	DefaultScheduler string `json:"defaultScheduler,omitempty"`
	// Schedulers holds the settings of each scheduler backend.
	Schedulers Schedulers `json:"schedulers"`
	// NodeAutoscaler says whether something adds nodes for pods that wait, such as the Cluster Autoscaler or
	// Karpenter: detect, present or absent. Where there is none, a gang of which a rank fits on no node, by its
	// size, its node selector or a taint, gets no pods until the nodes change: they could only use up quotas.
	// Where there may be one, its pods must exist. So they must where the API server itself adds tolerations to
	// pods: say present there too. detect looks for the API groups karpenter.sh, autoscaling.x-k8s.io and
	// autoscaling.openshift.io, and for the ConfigMap cluster-autoscaler-status in kube-system.
	NodeAutoscaler string `json:"nodeAutoscaler"`
	// GPUs are the resources that count as GPUs, each unit as one: in status.gpus, in GPU seconds, and in what
	// frameworks are told of a rank's devices. A name, or a pattern in which * stands for any characters but a
	// slash; a pattern after a ! takes away names that others match. Scheduling, quotas and the reasons why jobs
	// wait count every resource under its own name and do not depend on it.
	GPUs []string `json:"gpus"`
	// GPUTolerations are added to all ranks that request GPUs (see gpus), for clusters whose GPU nodes are
	// tainted: at most 16 tolerations as in a pod, each with a key, such as {key: nvidia.com/gpu, operator:
	// Exists, effect: NoSchedule}. A job whose own tolerations have one keeps it. Another list holds from a
	// job's next attempt on. A job that MultiKueue dispatches gets those of the cluster that runs it, but its
	// Workload is copied without: flavors with taints there need spec.tolerations of their own. None by
	// default.
	GPUTolerations []corev1.Toleration `json:"gpuTolerations,omitempty"`
	// Agent is the program that runs beside the trainers of jobs with checkpoints.
	Agent Agent `json:"agent"`
	// MLflow is what the ranks are told of a server of MLflow's.
	MLflow MLflow `json:"mlflow"`
	// Blockers say why a job waits.
	Blockers Blockers `json:"blockers"`
	// Lifecycle bounds how long gangs hold what they do not use.
	Lifecycle Lifecycle `json:"lifecycle"`
	// Preemption says whom gangs that lack room would have make some, at the least cost.
	Preemption Preemption `json:"preemption"`
	// Workers is the number of jobs that are reconciled at the same time, from 1 to 100.
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

// LeaderElection lets one of several replicas of the operator act.
type LeaderElection struct {
	// Enabled makes the operator acquire a lease before it acts. Turn it off only where a single operator runs.
	Enabled bool `json:"enabled"`
	// Namespace of the lease: a DNS-1123 label. By default the namespace of the operator's pod, or
	// trainingjob-system if the operator runs outside a pod.
	Namespace string `json:"namespace,omitempty"`
}

// Metrics is the Prometheus endpoint /metrics, and /metrics/jobs at the same address.
type Metrics struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// Secure serves over TLS, and only to clients that the API server allows to GET the URL /metrics, or
	// /metrics/jobs. Without it both are plain HTTP, open to everybody.
	Secure bool `json:"secure"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key, such as a mounted secret of
	// type kubernetes.io/tls. The files may be replaced while the operator runs. By default the operator makes a
	// certificate of its own at each start, which no client can verify. Only with secure.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Jobs is what /metrics/jobs serves: the series of each job.
	Jobs JobMetrics `json:"jobs"`
}

// JobMetrics is what /metrics/jobs serves.
type JobMetrics struct {
	// Limit is how many jobs have series there at most, from 0, which turns /metrics/jobs off, to 100000. Of
	// more jobs those have series that have not finished, and of these, and of the others, the youngest;
	// trainingjob_jobs_left_out says how many have none. A job has about 20 series.
	Limit int `json:"limit"`
	// RankLimit is how many ranks have the series trainingjob_rank_info there at most, from 0 to 1000000. Ranks
	// of gangs that hold no nodes have none. trainingjob_ranks_left_out says how many are beyond the limit.
	RankLimit int `json:"rankLimit"`
}

// Health is the endpoint of the probes /healthz and /readyz.
type Health struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
}

// Profiles is the endpoint /debug/pprof/.
type Profiles struct {
	// BindAddress of the endpoint, as host:port on a loopback address, such as localhost:6060, which
	// kubectl port-forward reaches. Whoever reaches it can read names of jobs from the operator's memory. "0"
	// turns it off.
	BindAddress string `json:"bindAddress"`
}

// Reports is the server to which rank 0 of each job reports progress and checkpoints.
type Reports struct {
	// BindAddress of the server, as host:port or :port, such as :9443. "0" turns it off: it needs certificates,
	// and an address that pods reach.
	BindAddress string `json:"bindAddress"`
	// URL under which the ranks' pods reach the server, such as
	// https://trainingjob-reports.trainingjob-system.svc:9443: https, a host, an optional port, nothing else.
	// Reports go to the path /v1/reports below it. Required if the server is on.
	URL string `json:"url,omitempty"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key, for the URL's host, and
	// ca.crt, which holds the certificates that the ranks trust: one or more in PEM, at most 64 KiB. The
	// files may be replaced while the operator runs. Required if the server is on.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Audience of the tokens that reports carry: 1 to 253 printable ASCII characters without spaces. Give each
	// operator its own where several share a cluster's token issuer, so that none accepts the others' tokens.
	Audience string `json:"audience"`
}

// On reports whether the server is on.
func (r Reports) On() bool { return r.BindAddress != Off }

// Schedulers holds the settings of each scheduler backend.
type Schedulers struct {
	// Allowed schedulers: volcano, kueue, native, coscheduling. A job that names another one waits, with the
	// blocker SchedulerNotAllowed, and one that names none gets none but these. Name them where several are
	// installed and one of them holds the quotas, which the others would pass by. Jobs that are queued or run
	// keep theirs. By default all are allowed.
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
	// WaitForInqueue creates a gang's pods only once Volcano asks for them, so that a queued job costs nothing.
	// Without it a gang starts one scheduling session, about a second, sooner.
	WaitForInqueue bool `json:"waitForInqueue"`
	// SchedulerName that Volcano serves (its flag --scheduler-name): a DNS-1123 subdomain.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Kueue configures the backend of Kueue.
type Kueue struct {
	// Binder places the pods of a gang that Kueue has admitted: Kueue guarantees quota, not that all of them
	// find nodes. default is the cluster's default scheduler, which places pods one by one and exists
	// everywhere. native and coscheduling place all or none, with the settings of schedulers.native and
	// schedulers.coscheduling; Kueue is then available only where the cluster serves that scheduler too.
	Binder string `json:"binder,omitempty"`
	// ManageJobsWithoutQueueName must be what Kueue's configuration says under the same name. With it a job that
	// names neither a scheduler nor a queue is Kueue's, and waits until it names a queue; defaultScheduler must
	// then be kueue or absent. Without it a job of Kueue's that names no queue is refused.
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

// Blockers say why a job waits.
type Blockers struct {
	// NameOtherNamespaces names the jobs of other namespaces that hold what a job waits for, in its status and
	// events. Without it they are summed up, because names of jobs tell tenants what others work on; jobs of
	// the same namespace are always named. Turn it on where all users of the cluster may know of each other.
	NameOtherNamespaces bool `json:"nameOtherNamespaces"`
}

// Agent is the program that runs beside the trainers of jobs with checkpoints.
type Agent struct {
	// Image whose entrypoint is the agent, as the nodes pull it: at most 500 printable ASCII characters without
	// spaces. make images makes one. Without it jobs with checkpoints wait, with the blocker
	// AgentNotConfigured; other jobs need none.
	Image string `json:"image,omitempty"`
	// SearchPriorityClass of the pods that search a volume for the latest checkpoint: the name of a
	// PriorityClass that exists, whose preemptionPolicy should be Never. deploy/operator has one of value 0,
	// trainingjob-search. Without it they have the cluster's default class, which may let a search preempt a
	// gang of a lower one.
	SearchPriorityClass string `json:"searchPriorityClass,omitempty"`
}

// MLflow is what the ranks are told of a server of MLflow's.
type MLflow struct {
	// TrackingURI of the server as the ranks' pods reach it, such as http://mlflow.mlflow.svc:5000: http or
	// https, a host, an optional port and an optional path, at most 253 characters. It must have no credentials
	// in it: everybody who may read pods reads it. All ranks get it as MLFLOW_TRACKING_URI, with
	// MLFLOW_EXPERIMENT_NAME and, where the job's run is known when an attempt starts, MLFLOW_RUN_ID. What a
	// container sets of its own wins. Another one holds from a job's next attempt on. None by default: the
	// ranks are told nothing.
	TrackingURI string `json:"trackingURI,omitempty"`
}

// Lifecycle bounds how long gangs hold what they do not use.
type Lifecycle struct {
	// KeepPlaceSeconds is the longest backoff, in seconds, in which a gang keeps its place in the queue and what
	// its scheduler has reserved for it; from 0, which keeps no place, to 86400. The backoff is 10 s after a
	// gang's first failure and doubles up to 6 minutes. Schedulers native and coscheduling keep no place.
	KeepPlaceSeconds int `json:"keepPlaceSeconds"`
	// StartTimeoutSeconds is how long a gang that has its nodes may take until it runs, in seconds: images are
	// pulled and volumes mounted meanwhile. Then it gives the nodes back and is queued again after a backoff.
	// From 0, which is no limit, to 86400.
	StartTimeoutSeconds int `json:"startTimeoutSeconds"`
	// ForceDeleteAfterSeconds is how long after the end of its grace period a pod is deleted by force whose node
	// does not answer, in seconds: 0, which is never, or from 60 to 86400. Until a pod is gone its gang cannot
	// start again, and keeps its quota. It gives up that at most one pod runs for each rank: a node that is only
	// cut off runs its ranks on, beside those of the next attempt. Checkpoints are safe from that, since each
	// attempt writes into a directory of its own; what else the ranks write is not. Without it somebody who
	// knows that the machine is off deletes the node, or taints it node.kubernetes.io/out-of-service, upon which
	// Kubernetes itself deletes its pods by force.
	ForceDeleteAfterSeconds int `json:"forceDeleteAfterSeconds"`
}

// Preemption says who makes room for gangs that lack some, at the least cost. docs/preemption.md says how to
// read it, and what admins set on priority classes.
type Preemption struct {
	// Mode is Off; or DryRun: status.scheduling.preemption of a job that waits for room then says which running
	// gangs of lower priority would make some at the least cost, and nothing acts on it; or Broker: the operator
	// has them save and make room, or tells Kueue whom to spare, for gangs whose priority class names a waiting
	// class.
	Mode PreemptionMode `json:"mode"`
	// MaxDelaySeconds is how long a gang may be made to wait for others' saves, in seconds, from 1 to 3600. Then
	// they are ended, saved or not. A priority class may say another time.
	MaxDelaySeconds int `json:"maxDelaySeconds"`
	// MinRunSeconds is how long a gang must have run to be named, in seconds, from 0 to 86400: it is named
	// earlier where nobody else makes enough room, once the waiting gang has waited for half of maxDelaySeconds.
	// A priority class may say another time.
	MinRunSeconds int `json:"minRunSeconds"`
	// MaxRounds is how often others make room for one attempt, from 1 to 10, where somebody else takes it first.
	// Only with mode Broker.
	MaxRounds int `json:"maxRounds"`
	// LossCapSeconds is the most unsaved training that counts for a gang, in seconds, from 60 to 86400: no
	// trainer makes itself dearer than that by never saving.
	LossCapSeconds int `json:"lossCapSeconds"`
	// UnknownStartSeconds is what another start of a gang is taken to cost whose last one was not measured, in
	// seconds, from 0 to 86400: the time until it trains again, for each of its GPUs.
	UnknownStartSeconds int `json:"unknownStartSeconds"`
	// MaxPlans is for how many waiting gangs somebody is named at the same time, from 1 to 64: those of the
	// highest priority, of these the oldest.
	MaxPlans int `json:"maxPlans"`
}

// PreemptionMode is a value of Preemption.Mode.
type PreemptionMode string

// Values of Preemption.Mode.
const (
	PreemptionOff    PreemptionMode = "Off"
	PreemptionDryRun PreemptionMode = "DryRun"
	PreemptionBroker PreemptionMode = "Broker"
)

// UnmarshalJSON reads a mode. In YAML 1.1, which Kubernetes' tools read, Off without quotes is the boolean
// false.
func (m *PreemptionMode) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		*m = PreemptionOff
		return nil
	}
	return json.Unmarshal(data, (*string)(m))
}
