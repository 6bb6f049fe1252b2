package servers

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		// Its controllers have one worker each: no manager's option sets more (main.go of v0.12.0).
		ProcessJobSet: {"--kube-api-qps", "--kube-api-burst", ""},
	}
}

// limitsInFiles are the programs that take their limits from their configurations.
var limitsInFiles = []string{ProcessKueue, ProcessTrainer}

// CheckLimits says which of the limits cannot be set.
func CheckLimits(limits map[string]Limits) error {
	settable := limitFlagsOf()
	for _, program := range slices.Sorted(maps.Keys(limits)) {
		l := limits[program]
		flags, ok := settable[program]
		switch {
		case l.QPS < 0 || l.Burst < 0 || l.Workers < 0:
			return fmt.Errorf("the limits of %s are %+v; none may be negative", program, l)
		case slices.Contains(limitsInFiles, program):
		case !ok:
			known := slices.Concat(slices.Sorted(maps.Keys(settable)), limitsInFiles)
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

// in sets the limits in a configuration. The workers are those of the kinds that it names, and of others.
func (l Limits) in(configuration map[string]any, others ...string) error {
	set := func(value int, path ...string) error {
		if value == 0 {
			return nil
		}
		return unstructured.SetNestedField(configuration, int64(value), path...)
	}
	kinds, _, err := unstructured.NestedMap(configuration, "controller", "groupKindConcurrency")
	if err != nil {
		return err
	}
	errs := []error{set(l.QPS, "clientConnection", "qps"), set(l.Burst, "clientConnection", "burst")}
	for _, kind := range slices.Concat(slices.Sorted(maps.Keys(kinds)), others) {
		errs = append(errs, set(l.Workers, "controller", "groupKindConcurrency", kind))
	}
	return errors.Join(errs...)
}
