// Package config reads the configuration file of the server.
//
// The configuration is one YAML file of kind ServerConfiguration, and docs/server-configuration.md lists its
// keys. Flags only give the file's path and the logging. Every key has a default, so an empty configuration
// is complete. An unknown key is an error that names it, so no setting is silently ignored.
//
// A section that configures one package is a type of that package, with its own method Validate. This package
// defines only its place in the file.
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
	// APIVersion is config.mlplatform.example.com/v1alpha1. Required.
	APIVersion string `json:"apiVersion"`
	// Kind is ServerConfiguration. Required.
	Kind string `json:"kind"`
	// Listen is the address of the API and the board.
	Listen Listen `json:"listen"`
	// Clusters to watch, at most 100; the first is the default of requests. By default one named default:
	// that of the pod, of --kubeconfig, of $KUBECONFIG or of the home directory.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Database stores the history.
	Database Database `json:"database"`
	// Retention limits the age of the history.
	Retention Retention `json:"retention"`
	// Finalizer keeps deleted jobs until the server has recorded them.
	Finalizer Finalizer `json:"finalizer"`
	// Prices of at most 1000 GPU kinds. The cost of jobs with other kinds is unknown.
	Prices []Price `json:"prices,omitempty"`
	// Currency of the prices: an ISO 4217 code.
	Currency string `json:"currency"`
	// GPUs are the resources that count as GPUs. Use the same list as in the operator's configuration.
	GPUs []string `json:"gpus"`
	// GPUKindLabels are the node labels with the GPU product, at most 16; the first one that a node has
	// applies. Without such a label, the kind is the resource name.
	GPUKindLabels []string `json:"gpuKindLabels"`
	// UserKeys are the annotations and labels with the user of a job, at most 16; the first one that a job
	// has applies, annotations before labels. Users can write any value.
	UserKeys []string `json:"userKeys"`
	// Identity configures authentication.
	Identity identity.Config `json:"identity"`
	// Board configures the web pages and browser logins.
	Board Board `json:"board"`
	// Access configures how the server acts for callers.
	Access access.Config `json:"access"`
	// Limits of requests, for each replica.
	Limits shield.Config `json:"limits"`
	// TFJob configures the TFJob-admin dialect.
	TFJob tfjob.Config `json:"tfjob"`
	// MLflow configures the MLflow server that receives a run for each job.
	MLflow mlflow.Config `json:"mlflow"`
	// Metrics configures the Prometheus endpoint /metrics.
	Metrics Metrics `json:"metrics"`
	// Health configures the probes /healthz and /readyz.
	Health Health `json:"health"`
}

// Board configures the web pages and browser logins.
type Board struct {
	session.Config
	// TopologyLabels are node labels with the location, such as a zone or rack, at most 16; the first one
	// that a node has applies. The map groups nodes by them.
	TopologyLabels []string `json:"topologyLabels"`
}

// Listen is the address of the API and the board.
type Listen struct {
	// BindAddress is host:port or :port. "0" disables the API: the server then only records.
	BindAddress string `json:"bindAddress"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key, such as a mounted Secret.
	// The server reloads changed files. Plain HTTP without it needs a loopback address.
	CertificateDir string `json:"certificateDir,omitempty"`
	// Insecure allows plain HTTP on any address, without certificateDir. The network can then read tokens.
	Insecure bool `json:"insecure"`
	// TrustedProxies are the networks of proxies that append their client's address to the header
	// X-Forwarded-For, such as 10.244.0.0/16, at most 64. Limits of an address then apply to that client. By
	// default an ingress is one client.
	TrustedProxies []string `json:"trustedProxies,omitempty"`
}

// Cluster to watch.
type Cluster struct {
	// Name in paths and in the history: a unique DNS-1123 label. Do not change it. Required.
	Name string `json:"name"`
	// Kubeconfig is the absolute path of a file. By default the server uses the cluster that it runs in.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context of the kubeconfig. By default its current context.
	Context string `json:"context,omitempty"`
}

// DefaultCluster is the name of the cluster if none is configured.
const DefaultCluster = "default"

// AllClusters returns the configured clusters, or the default one.
func (c ServerConfiguration) AllClusters() []Cluster {
	if len(c.Clusters) == 0 {
		return []Cluster{{Name: DefaultCluster}}
	}
	return c.Clusters
}

// Database stores the history.
type Database struct {
	// URL is sqlite:///<absolute path>, for one replica, or
	// postgres://user@host:port/database?sslmode=verify-full, for any number. Put a URL with a password in
	// urlFile. By default sqlite:///var/lib/trainingjob-server/history.db.
	URL string `json:"url,omitempty"`
	// URLFile is the absolute path of a file with such a URL on one line, read at startup. It replaces url.
	URLFile string `json:"urlFile,omitempty"`
}

// DefaultDatabaseURL is the database if none is configured.
const DefaultDatabaseURL = "sqlite:///var/lib/trainingjob-server/history.db"

// Retention limits the age of the history.
type Retention struct {
	// Days to keep the history after a job finishes or is deleted, from 0 (forever) to 36500. The daily
	// accounting sums stay forever.
	Days int `json:"days"`
}

// Finalizer keeps deleted jobs until the server has recorded them.
type Finalizer struct {
	// Enabled adds the finalizer mlplatform.example.com/history to every TrainingJob and removes it after the
	// server has recorded the deleted job. While the server is down, no deletion completes. Needs
	// deploy/server/finalizer.yaml, also to remove the finalizers later.
	Enabled bool `json:"enabled"`
}

// Price of one kind of GPU.
type Price struct {
	// GPUKind is the product as in the label of gpuKindLabels, such as NVIDIA-H100-80GB-HBM3, or the resource
	// name for nodes without the label. Required.
	GPUKind string `json:"gpuKind"`
	// PerGPUHour is the price of one GPU for an hour: a decimal number such as 2.75, from 0 and below
	// 1000000000, with at most 6 decimals. Required.
	PerGPUHour Amount `json:"perGPUHour"`
}

// Metrics configures the Prometheus endpoint /metrics.
type Metrics struct {
	// BindAddress is host:port or :port. "0" disables the endpoint.
	BindAddress string `json:"bindAddress"`
	// Secure serves TLS to clients that the API server of the first cluster allows to get the URL /metrics.
	// Without it the endpoint is plain HTTP, open to all.
	Secure bool `json:"secure"`
	// CertificateDir is the absolute path of a directory with tls.crt and tls.key. The server reloads changed
	// files. By default the certificate is self-signed. Only with secure.
	CertificateDir string `json:"certificateDir,omitempty"`
}

// Health configures the probes /healthz and /readyz.
type Health struct {
	// BindAddress is host:port or :port. "0" disables the endpoint.
	BindAddress string `json:"bindAddress"`
}
