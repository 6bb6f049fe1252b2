package localcluster

import "context"

// scheduler is what one choice of Options.Schedulers adds to the plain control
// plane. A new one is a component and an entry in
// schedulers.
type scheduler struct {
	components    []string            // to build beside the base
	ports         []string            // to choose, by name
	featureGates  map[string][]string // by process
	runtimeConfig string              // APIs to switch on
	// prepare runs once the API server is ready, before any other process starts.
	prepare func(context.Context, *Cluster, plan) error
	// processes to start.
	processes func(plan) []process
	// configure runs once the processes are healthy.
	configure func(context.Context, *Cluster, plan) error
	// ready waits until it can schedule.
	ready func(context.Context, *Cluster) error
}

// schedulers are the choices that Up knows.
func schedulers() map[string]scheduler {
	return map[string]scheduler{
		SchedulerVolcano:      volcano(),
		SchedulerNative:       nativeGangs(),
		SchedulerCoscheduling: coscheduling(),
		SchedulerKueue:        kueue(),
	}
}
