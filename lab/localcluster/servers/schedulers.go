package servers

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Names of the gang schedulers. The default kube-scheduler runs in every cluster, since plain pods need it;
// Native turns on its gang scheduling and the API for it. Coscheduling is a second kube-scheduler, with
// scheduler-plugins. Kueue admits gangs and leaves it to others to bind them, so it turns on Native too.
const (
	SchedulerVolcano      = "volcano"
	SchedulerNative       = "native"
	SchedulerCoscheduling = "coscheduling"
	SchedulerKueue        = "kueue"
)

// Schedulers are all gang schedulers, by name.
func Schedulers() map[string]Scheduler {
	return map[string]Scheduler{
		SchedulerVolcano:      volcano(),
		SchedulerNative:       native(),
		SchedulerCoscheduling: coscheduling(),
		SchedulerKueue:        kueue(),
	}
}

// SchedulerNames are the names of all gang schedulers, sorted.
func SchedulerNames() []string { return slices.Sorted(maps.Keys(Schedulers())) }

// ComponentsFor are the components of a cluster with the schedulers and nothing more.
func ComponentsFor(schedulers []string, realNode bool) []string {
	needed := []string{components.Etcd, components.Kubernetes, components.KWOK}
	for _, name := range schedulers {
		needed = append(needed, Schedulers()[name].Components...)
	}
	if realNode {
		needed = append(needed, components.Kubelet, components.Node)
	}
	return needed
}

// PortNames are the ports that a cluster needs.
func PortNames(schedulers []string, trainers bool) []string {
	ports := []string{
		ProcessEtcd, portEtcdPeer, ProcessAPIServer, ProcessControllerManager, ProcessScheduler, ProcessKWOK,
	}
	for _, name := range schedulers {
		ports = append(ports, Schedulers()[name].Ports...)
	}
	if trainers {
		ports = append(ports, ProcessTrainers)
	}
	return ports
}

// FeaturesFor are the features that the schedulers need.
func FeaturesFor(schedulers []string) Features {
	features := Features{}
	for _, name := range schedulers {
		features = features.join(Schedulers()[name].Features)
	}
	return features
}

// Base are the processes that every cluster starts once the API server is ready.
func (c Config) Base() []process.Process {
	processes := []process.Process{c.controllerManager(), c.kubeScheduler(), c.kwok()}
	if c.Trainers != "" {
		processes = append(processes, c.trainers())
	}
	return processes
}
