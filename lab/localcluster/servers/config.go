package servers

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// Names of processes, which are also those of their binaries and logs. A process with one port names the port
// after itself.
const (
	ProcessEtcd              = "etcd"
	ProcessAPIServer         = "kube-apiserver"
	ProcessControllerManager = "kube-controller-manager"
	ProcessScheduler         = "kube-scheduler"
	ProcessKWOK              = "kwok"
	ProcessTrainers          = "trainers"
)

// portEtcdPeer is etcd's second port.
const portEtcdPeer = "etcd-peer"

// Config is what the command lines of a cluster depend on.
type Config struct {
	Files layout.Layout
	// Modules is the folder lab/modules.
	Modules  string
	Binaries components.Binaries
	// Ports by name.
	Ports map[string]int
	// Features that the schedulers need.
	Features Features
	// NodeGracePeriod is how long after a node's last heartbeat it is NotReady.
	NodeGracePeriod time.Duration
	// CoschedulingFlags of scheduler-plugins' scheduler; nil: those that suit the configuration that ships.
	CoschedulingFlags []string
	// Limits of programs, by the name of the process, for those whose limits are not the local cluster's own.
	Limits map[string]Limits
	// Configurations of schedulers, by their names, in the place of those that ship: an absolute path, or a file
	// beside the one that ships.
	Configurations map[string]string
	// RealNode is true when the cluster has a real kubelet.
	RealNode bool
	// Audit turns on the API server's audit log.
	Audit bool
	// Trainers is the program that simulates trainers, "" for none.
	Trainers string
}

// Features are what schedulers ask of the control plane.
type Features struct {
	// Gates are feature gates to turn on, by process.
	Gates map[string][]string
	// APIs to turn on, as values of --runtime-config.
	APIs []string
}

// join adds the features of others, each once.
func (f Features) join(others Features) Features {
	joined := Features{Gates: maps.Clone(f.Gates), APIs: unique(append(slices.Clone(f.APIs), others.APIs...))}
	if joined.Gates == nil {
		joined.Gates = map[string][]string{}
	}
	for process, gates := range others.Gates {
		joined.Gates[process] = unique(append(slices.Clone(joined.Gates[process]), gates...))
	}
	return joined
}

// WithGates turns on more feature gates, in every process of Kubernetes.
func (f Features) WithGates(gates []string) Features {
	return f.join(Features{Gates: map[string][]string{
		ProcessAPIServer: gates, ProcessScheduler: gates, ProcessControllerManager: gates,
	}})
}

// unique sorts the names and drops repetitions.
func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// moduleFile is a file below lab/modules.
func (c Config) moduleFile(elements ...string) string {
	return filepath.Join(append([]string{c.Modules}, elements...)...)
}

// configuration of a scheduler, of which the one that ships lies in a folder of lab/modules.
func (c Config) configuration(scheduler, module, shipped string) string {
	file := cmp.Or(c.Configurations[scheduler], shipped)
	if filepath.IsAbs(file) {
		return file
	}
	return c.moduleFile(module, file)
}

// servingFlags are the flags of every Kubernetes server for its certificate.
func (c Config) servingFlags() []string {
	return []string{
		"--tls-cert-file=" + c.Files.ServerCert(),
		"--tls-private-key-file=" + c.Files.ServerKey(),
	}
}

// featureGates is the flag of a process for its feature gates; it is empty when there are none.
func (c Config) featureGates(process string) []string {
	gates := slices.Clone(c.Features.Gates[process])
	if len(gates) == 0 {
		return nil
	}
	for i := range gates {
		gates[i] += "=true"
	}
	return []string{"--feature-gates=" + strings.Join(gates, ",")}
}
