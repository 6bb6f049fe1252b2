package servers

import (
	"fmt"
	"maps"
	"slices"
)

// Limits are how much a program does at a time. A field that is zero leaves it at the program's own default.
type Limits struct {
	// QPS and Burst bound the requests of its client to the API server, per second and at once.
	QPS, Burst int
	// Workers is how many objects of a kind it works on at a time.
	Workers int
}

// raised are limits with which measurements find the limits of schedulers, not those of clients.
var raised = Limits{QPS: 2000, Burst: 4000}

// limitFlags are the names of a program's flags for its limits; "" for one that it does not have.
type limitFlags struct{ qps, burst, workers string }

// limitFlagsOf are the programs that take their limits as flags.
func limitFlagsOf() map[string]limitFlags {
	return map[string]limitFlags{
		ProcessVolcanoScheduler:  {"--kube-api-qps", "--kube-api-burst", ""},
		ProcessVolcanoController: {"--kube-api-qps", "--kube-api-burst", "--worker-threads"},
		ProcessTrainingOperator:  {"--kube-api-qps", "--kube-api-burst", "--controller-threads"},
		// Its controllers have one worker each: no manager's option sets more (main.go of v0.12.0).
		ProcessJobSet: {"--kube-api-qps", "--kube-api-burst", ""},
	}
}

// CheckLimits says which of the limits cannot be set.
func CheckLimits(limits map[string]Limits) error {
	settable := limitFlagsOf()
	for _, program := range slices.Sorted(maps.Keys(limits)) {
		l := limits[program]
		flags, ok := settable[program]
		switch {
		case l.QPS < 0 || l.Burst < 0 || l.Workers < 0:
			return fmt.Errorf("the limits of %s are %+v; none may be negative", program, l)
		case program == ProcessKueue:
		case !ok:
			known := append(slices.Sorted(maps.Keys(settable)), ProcessKueue)
			return fmt.Errorf("the limits of %q cannot be set; those of %v can", program, known)
		case l.Workers > 0 && flags.workers == "":
			return fmt.Errorf("the number of workers of %s cannot be set", program)
		}
	}
	return nil
}

// limitArgs are the flags for the limits of a process: the cluster's, or else those of the caller.
func (c Config) limitArgs(process string, otherwise Limits) []string {
	limits, ok := c.Limits[process]
	if !ok {
		limits = otherwise
	}
	flags := limitFlagsOf()[process]
	var args []string
	add := func(flag string, value int) {
		if value > 0 {
			args = append(args, fmt.Sprintf("%s=%d", flag, value))
		}
	}
	add(flags.qps, limits.QPS)
	add(flags.burst, limits.Burst)
	add(flags.workers, limits.Workers)
	return args
}
