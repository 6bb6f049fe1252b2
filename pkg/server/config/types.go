// Package config answers one question: what has the admin configured of the server?
//
// The configuration is one YAML file of kind ServerConfiguration, and docs/server-configuration.md lists its
// keys. Flags only give the file's path and the logging. Every key has a default, so an empty configuration
// is complete. An unknown key is an error that names it, so no setting is silently ignored.
//
// A section that configures one package is a type of that package, with a method Validate of its own: here
// stands where it is in the file, and nothing else about it.
package config

import (
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/mlflow"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
)

// APIVersion and Kind of the file.
const (
	APIVersion = "config.mlplatform.example.com/v1alpha1"
	Kind       = "ServerConfiguration"
)

// Off, as a bind address, turns a server off.
const Off = "0"

// ServerConfiguration is the server's configuration file.
type ServerConfiguration struct {
	// APIVersion of the file: config.mlplatform.example.com/v1alpha1. Required.
	APIVersion string `json:"apiVersion"`
	// Kind of the file: ServerConfiguration. Required.
	Kind string `json:"kind"`
	// Listen is where the REST API is served.
	Listen Listen `json:"listen"`
	// Clusters whose TrainingJobs the server knows: at most 100. The first is the default, where a request names
	// none. By default there is one, named default: the cluster that the server runs in, or, outside a pod, that
	// of the kubeconfig in the flag --kubeconfig, in $KUBECONFIG or in the home folder.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Database is where the history is kept.
	Database Database `json:"database"`
	// Retention is how long the history of a job is kept.
	Retention Retention `json:"retention"`
	// Finalizer keeps deleted jobs until their history is written.
	Finalizer Finalizer `json:"finalizer"`
	// Prices of GPUs, from which the cost of jobs is computed, for at most 1000 kinds. The cost of a job with
	// another kind is unknown, and said to be.
	Prices []Price `json:"prices,omitempty"`
	// Currency of the prices: three capital letters, as ISO 4217 has them.
	Currency string `json:"currency"`
	// GPUs are the resources that count as GPUs, as in the operator's configuration under the same name. Say
	// here what is said there.
	GPUs []string `json:"gpus"`
	// GPUKindLabels are the labels of nodes that name the product of their GPUs; the first that a node has
	// counts. The kind of a job's GPUs is what the nodes that its ranks are on say, and the name of the resource
	// where they say nothing. With an empty list it is always the resource's name, and nothing but the board's
	// map needs rights on nodes. At most 16.
	GPUKindLabels []string `json:"gpuKindLabels"`
	// UserKeys are the annotations and labels of a job that name the user whom it is for; the first that a job
	// has counts, and an annotation before a label of the same key. Whoever creates a job may write anything
	// there unless an admission policy forbids it. At most 16.
	UserKeys []string `json:"userKeys"`
	// Identity is who may call the API, and how callers prove who they are.
	Identity identity.Config `json:"identity"`
	// Board is the web pages, and how browsers log in to them.
	Board Board `json:"board"`
	// Access is how the server acts for its callers.
	Access access.Config `json:"access"`
	// Limits of what callers may send and ask.
	Limits shield.Config `json:"limits"`
	// TFJob is the API of the TFJob-admin dialect.
	TFJob tfjob.Config `json:"tfjob"`
	// MLflow is a server of MLflow's, in which every job has a run.
	MLflow mlflow.Config `json:"mlflow"`
	// Metrics is the Prometheus endpoint /metrics.
	Metrics Metrics `json:"metrics"`
	// Health is the endpoint of the probes /healthz and /readyz.
	Health Health `json:"health"`
}

// Board is the web pages, and how browsers log in to them.
type Board struct {
	session.Config
	// TopologyLabels are the labels of nodes that name where they are, such as a zone, a block or a rack; the
	// first that a node has counts. The map groups nodes by them. With an empty list it does not. At most 16.
	TopologyLabels []string `json:"topologyLabels"`
}

// Listen is where the REST API is served.
type Listen struct {
	// BindAddress of the API, as host:port or :port. "0" turns it off: the server then only records.
	BindAddress string `json:"bindAddress"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key, such as a mounted secret of
	// type kubernetes.io/tls. The files may be replaced while the server runs. Without it the API is plain HTTP,
	// which is accepted on a loopback address alone.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Insecure serves plain HTTP on any address. Everybody on the way between the server and its clients can
	// then read their tokens and act as them. Only where certificateDir is absent.
	Insecure bool `json:"insecure"`
}

// Cluster whose TrainingJobs the server knows.
type Cluster struct {
	// Name of the cluster in paths and in the history: a DNS-1123 label, no other cluster's. The history stays
	// under the name that it was recorded with. Required.
	Name string `json:"name"`
	// Kubeconfig is the absolute path of a file. By default it is the cluster that the server runs in.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context in the kubeconfig. By default its current context. Only with kubeconfig.
	Context string `json:"context,omitempty"`
}

// DefaultCluster is the name of the only cluster where none is configured.
const DefaultCluster = "default"

// AllClusters are the configured ones, or the only one that there is without a configuration.
func (c ServerConfiguration) AllClusters() []Cluster {
	if len(c.Clusters) == 0 {
		return []Cluster{{Name: DefaultCluster}}
	}
	return c.Clusters
}

// Database is where the history is kept.
type Database struct {
	// URL of the database: sqlite:///<absolute path of a file>, for one replica of the server, or
	// postgres://user@host:port/database?sslmode=verify-full, for any number. It may hold no password, since
	// everybody who may read the configuration would know it: use urlFile. By default
	// sqlite:///var/lib/trainingjob-server/history.db.
	URL string `json:"url,omitempty"`
	// URLFile is the absolute path of a file with such a URL on one line, which may hold a password, such as a
	// key of a mounted secret. It is read when the server starts. Instead of url.
	URLFile string `json:"urlFile,omitempty"`
}

// DefaultDatabaseURL is the database where none is configured.
const DefaultDatabaseURL = "sqlite:///var/lib/trainingjob-server/history.db"

// Retention is how long the history of a job is kept.
type Retention struct {
	// Days after its end that a job's history is kept, from 0, which is for ever, to 36500. A job ends when it
	// finishes, or when it is deleted before. The daily sums of the accounting are kept for ever.
	Days int `json:"days"`
}

// Finalizer keeps deleted jobs until their history is written.
type Finalizer struct {
	// Enabled adds the finalizer mlplatform.example.com/history to every TrainingJob and removes it once the
	// deleted job's history is written. Nothing of a job is then lost that is deleted while the server is away;
	// but no job can be deleted for good until the server is back. It needs the rights of
	// deploy/server/finalizer.yaml. When it is turned off the server removes its finalizers, as long as it has
	// these rights.
	Enabled bool `json:"enabled"`
}

// Price of one kind of GPU.
type Price struct {
	// GPUKind is the product as the label in gpuKindLabels has it, such as NVIDIA-H100-80GB-HBM3, or the name of
	// the resource, such as nvidia.com/gpu, for GPUs whose nodes have no such label. Required.
	GPUKind string `json:"gpuKind"`
	// PerGPUHour is what one GPU of the kind costs for an hour: a decimal number such as 2.75, from 0 and below
	// 1000000000, with at most 6 decimals. It is computed with exactly. Required.
	PerGPUHour Amount `json:"perGPUHour"`
}

// Metrics is the Prometheus endpoint /metrics.
type Metrics struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// Secure serves over TLS, and only to clients that the API server of the first cluster allows to GET the URL
	// /metrics. Without it the endpoint is plain HTTP, open to everybody.
	Secure bool `json:"secure"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key. The files may be replaced
	// while the server runs. By default the server makes a certificate of its own at each start, which no client
	// can verify. Only with secure.
	CertificateDir string `json:"certificateDir,omitempty"`
}

// Health is the endpoint of the probes /healthz and /readyz.
type Health struct {
	// BindAddress of the endpoint, as host:port or :port. "0" turns it off.
	BindAddress string `json:"bindAddress"`
}
