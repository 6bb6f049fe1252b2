package localcluster

import (
	"maps"
	"path/filepath"
	"slices"
)

// plan is everything that command lines depend on. The functions that make them
// (etcd, apiserver, ...) are pure: a plan in, a process out.
type plan struct {
	options  Options
	files    layout
	modules  string // the folder lab/modules
	binaries Binaries
	ports    map[string]int
	// nodeNumber chooses the addresses of the real node, where there is one.
	nodeNumber byte
}

// Names of ports. A process with one port uses its own name.
const portEtcdPeer = "etcd-peer"

// portNames are the ports that a cluster with these options needs.
func portNames(o Options) []string {
	ports := []string{processEtcd, portEtcdPeer, processAPIServer, processControllerManager, processScheduler, processKwok}
	for _, name := range o.Schedulers {
		ports = append(ports, schedulers()[name].ports...)
	}
	if o.Trainers != "" {
		ports = append(ports, processTrainers)
	}
	return ports
}

// Names of processes, which are also those of their binaries and logs.
const (
	processEtcd              = "etcd"
	processAPIServer         = "kube-apiserver"
	processControllerManager = "kube-controller-manager"
	processScheduler         = "kube-scheduler"
	processKwok              = "kwok"
	processTrainers          = "trainers"
)

// common are the processes that start as soon as the API server is ready,
// whatever the schedulers.
func (p plan) common() []process {
	processes := []process{p.controllerManager(), p.kubeScheduler(), p.kwok()}
	if p.options.Trainers != "" {
		processes = append(processes, p.trainers())
	}
	return processes
}

// configuration is a file of ours below lab/modules.
func (p plan) configuration(elements ...string) string {
	return filepath.Join(append([]string{p.modules}, elements...)...)
}

// servingFlags are the flags of every Kubernetes server for its certificate.
func (p plan) servingFlags() []string {
	return []string{
		"--tls-cert-file=" + p.files.pkiFile(fileServerCert),
		"--tls-private-key-file=" + p.files.pkiFile(fileServerKey),
	}
}

// featureGates joins what the schedulers ask of one process, "" for nothing.
func (p plan) featureGates(process string) string {
	gates := map[string]bool{}
	for _, name := range p.options.Schedulers {
		for _, gate := range schedulers()[name].featureGates[process] {
			gates[gate] = true
		}
	}
	flag := ""
	for _, gate := range slices.Sorted(maps.Keys(gates)) {
		if flag != "" {
			flag += ","
		}
		flag += gate + "=true"
	}
	return flag
}

// withFeatureGates appends the flag if there is anything to say.
func (p plan) withFeatureGates(args []string, process string) []string {
	if gates := p.featureGates(process); gates != "" {
		return append(args, "--feature-gates="+gates)
	}
	return args
}
