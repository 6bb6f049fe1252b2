// Package config answers one question: what has the admin configured of the operator?
//
// The configuration is one YAML file of kind OperatorConfiguration; docs/configuration.md lists its keys.
// Flags only give the file's path and the logging. Every key has a default, so an empty configuration is
// complete. An unknown key is an error that names it, so no setting is silently ignored.
package config

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

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
	// LeaderElection lets one of several replicas of the operator act.
	LeaderElection LeaderElection `json:"leaderElection"`
	// Metrics is the Prometheus endpoint /metrics.
	Metrics Metrics `json:"metrics"`
	// Health is the endpoint of the probes /healthz and /readyz.
	Health Health `json:"health"`
	// Reports is the server to which rank 0 of each job reports progress and checkpoints. While it is off, jobs
	// train as they would with it, and checkpoints become known when their pods end.
	Reports Reports `json:"reports"`
	// DefaultScheduler of jobs that name none: volcano, kueue, native or coscheduling. By default a job with a
	// Kueue queue label gets kueue, and any other the first of volcano, native and coscheduling that the cluster
	// serves.
	DefaultScheduler string `json:"defaultScheduler,omitempty"`
	// Schedulers holds the settings of each scheduler backend.
	Schedulers Schedulers `json:"schedulers"`
	// Agent is the program that runs beside the trainers of jobs with checkpoints.
	Agent Agent `json:"agent"`
	// Workers is the number of jobs that are reconciled at the same time, from 1 to 100.
	Workers int `json:"workers"`
}

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

// Metrics is the Prometheus endpoint /metrics.
type Metrics struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// Secure serves over TLS, and only to clients that the API server allows to GET the URL /metrics. Without it
	// the endpoint is plain HTTP, open to everybody.
	Secure bool `json:"secure"`
}

// Health is the endpoint of the probes /healthz and /readyz.
type Health struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
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

// Agent is the program that runs beside the trainers of jobs with checkpoints.
type Agent struct {
	// Image whose entrypoint is the agent, as the nodes pull it: at most 500 printable ASCII characters without
	// spaces. deploy/agent/Dockerfile builds one. Without it jobs with checkpoints wait, with the blocker
	// AgentNotConfigured; other jobs need none.
	Image string `json:"image,omitempty"`
}
