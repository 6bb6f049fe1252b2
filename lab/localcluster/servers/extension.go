package servers

import (
	"context"
	"maps"
	"slices"

	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Extension is what one gang scheduler or one add-on adds to the plain control plane. Functions may be nil.
type Extension struct {
	// Components to build beside the base.
	Components []string
	// Ports to choose, by name.
	Ports    []string
	Features Features
	// Prepare runs once the API server is ready, before any other process starts.
	Prepare func(ctx context.Context, c Config, config *rest.Config) error
	// Processes to start.
	Processes func(c Config) []process.Process
	// Configure runs once the processes are healthy.
	Configure func(ctx context.Context, c Config, config *rest.Config) error
	// Ready waits until gangs can be scheduled, or the add-on does its work. died returns an error as soon as
	// waiting is useless.
	Ready func(ctx context.Context, config *rest.Config, died func() error) error
}

// Names of the gang schedulers. The default kube-scheduler runs in every cluster, since plain pods need it;
// Native turns on its gang scheduling and the API for it. Coscheduling is a second kube-scheduler, with
// scheduler-plugins. Kueue admits gangs and leaves it to others to bind them, so it turns on Native too.
const (
	SchedulerVolcano      = "volcano"
	SchedulerNative       = "native"
	SchedulerCoscheduling = "coscheduling"
	SchedulerKueue        = "kueue"
)

// Names of the add-ons: other operators for gangs, which benchmarks compare with ours. Trainer is Kubeflow's;
// it makes JobSets, and groups for Volcano where that runs. The gangs of both are admitted by Kueue where it
// runs, with a configuration that names them.
const (
	AddOnJobSet  = "jobset"
	AddOnTrainer = "trainer"
)

// Schedulers are all gang schedulers, by name.
func Schedulers() map[string]Extension {
	return map[string]Extension{
		SchedulerVolcano:      volcano(),
		SchedulerNative:       native(),
		SchedulerCoscheduling: coscheduling(),
		SchedulerKueue:        kueue(),
	}
}

// AddOns are all add-ons, by name.
func AddOns() map[string]Extension {
	return map[string]Extension{
		AddOnJobSet:  jobSet(),
		AddOnTrainer: trainer(),
	}
}

// SchedulerNames are the names of all gang schedulers, sorted.
func SchedulerNames() []string { return slices.Sorted(maps.Keys(Schedulers())) }

// AddOnNames are the names of all add-ons, sorted.
func AddOnNames() []string { return slices.Sorted(maps.Keys(AddOns())) }

// Extensions are the gang schedulers and add-ons with these names, in their order.
func Extensions(names []string) []Extension {
	schedulers, addOns := Schedulers(), AddOns()
	extensions := make([]Extension, 0, len(names))
	for _, name := range names {
		if extension, ok := schedulers[name]; ok {
			extensions = append(extensions, extension)
			continue
		}
		extensions = append(extensions, addOns[name])
	}
	return extensions
}

// ComponentsFor are the components of a cluster with the extensions and nothing more.
func ComponentsFor(extensions []string, realNode bool) []string {
	needed := []string{components.Etcd, components.Kubernetes, components.KWOK}
	for _, extension := range Extensions(extensions) {
		needed = append(needed, extension.Components...)
	}
	if realNode {
		needed = append(needed, components.Kubelet, components.Node)
	}
	return needed
}

// PortNames are the ports that a cluster needs.
func PortNames(extensions []string, trainers bool) []string {
	ports := []string{
		ProcessEtcd, portEtcdPeer, ProcessAPIServer, ProcessControllerManager, ProcessScheduler, ProcessKWOK,
	}
	for _, extension := range Extensions(extensions) {
		ports = append(ports, extension.Ports...)
	}
	if trainers {
		ports = append(ports, ProcessTrainers)
	}
	return ports
}

// FeaturesFor are the features that the extensions need.
func FeaturesFor(extensions []string) Features {
	features := Features{}
	for _, extension := range Extensions(extensions) {
		features = features.join(extension.Features)
	}
	return features
}
