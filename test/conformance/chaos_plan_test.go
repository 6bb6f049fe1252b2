package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Fault is one thing that goes wrong, or that a user does at a bad moment.
type Fault string

// The faults of a chaos run.
const (
	// KillOperator at any instruction; it is started again after a moment.
	KillOperator Fault = "operator"
	// StopScheduler stops the process that decides about gangs, and starts it again a few faults later.
	StopScheduler Fault = "scheduler"
	// DeletePod as kubectl does, with the pod's grace period.
	DeletePod Fault = "pod-deleted"
	// DestroyPod deletes a pod without a grace period.
	DestroyPod Fault = "pod-destroyed"
	// EvictPod through the Eviction API.
	EvictPod Fault = "pod-evicted"
	// FailRank makes a rank exit 1, once for each job.
	FailRank Fault = "rank-failed"
	// KillNode takes a node's power away, and gives it back a few faults later.
	KillNode Fault = "node-killed"
	// DeleteNode deletes a node's object, and recreates it a few faults later.
	DeleteNode Fault = "node-deleted"
	// CordonNode, and uncordon it a few faults later.
	CordonNode Fault = "node-cordoned"
	// LoseReports breaks the connections of every agent for a few faults.
	LoseReports Fault = "reports"
	// Suspend a job, and resume it a few faults later.
	Suspend Fault = "suspended"
	// Restart a job by its annotation.
	Restart Fault = "restarted"
	// DeleteJob for good.
	DeleteJob Fault = "job-deleted"
)

// faultWeights are how often each fault comes among a hundred.
var faultWeights = []struct {
	fault  Fault
	weight int
}{
	{KillOperator, 14}, {StopScheduler, 2}, {DeletePod, 16}, {DestroyPod, 12}, {EvictPod, 14}, {FailRank, 6},
	{KillNode, 3}, {DeleteNode, 3}, {CordonNode, 8}, {LoseReports, 8}, {Suspend, 6}, {Restart, 4},
	{DeleteJob, 4},
}

// AllFaults returns every fault.
func AllFaults() []Fault {
	faults := make([]Fault, 0, len(faultWeights))
	for _, w := range faultWeights {
		faults = append(faults, w.fault)
	}
	return faults
}

// ParseFaults reads a list of faults separated by commas; "all" means all of them.
func ParseFaults(s string) ([]Fault, error) {
	if s == "all" {
		return AllFaults(), nil
	}
	var faults []Fault
	for name := range strings.SplitSeq(s, ",") {
		if !slices.Contains(AllFaults(), Fault(name)) {
			return nil, fmt.Errorf("there is no fault %q: choose of %v, or all", name, AllFaults())
		}
		faults = append(faults, Fault(name))
	}
	return faults, nil
}

// PlanFaults returns n of the given faults in an order that depends on the seed alone. What each of them hits
// depends on what exists when it comes.
func PlanFaults(random *rand.Rand, n int, among []Fault) []Fault {
	var bag []Fault
	for _, w := range faultWeights {
		if slices.Contains(among, w.fault) {
			bag = append(bag, slices.Repeat([]Fault{w.fault}, w.weight)...)
		}
	}
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = bag[random.IntN(len(bag))]
	}
	return faults
}

// Tally counts faults that hit something, by kind.
type Tally map[Fault]int

// Total of all kinds.
func (t Tally) Total() int {
	n := 0
	for _, m := range t {
		n += m
	}
	return n
}

// String lists the kinds in the order of AllFaults, those that never hit anything as 0.
func (t Tally) String() string {
	parts := make([]string, 0, len(faultWeights))
	for _, f := range AllFaults() {
		parts = append(parts, fmt.Sprintf("%s %d", f, t[f]))
	}
	return strings.Join(parts, ", ")
}
