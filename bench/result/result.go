// Package result is what a benchmark leaves behind, as data: one Run for every time that a workload was
// played on a stack. The report is a function of it, so that results of long benchmarks can be read, joined
// and reported again.
package result

import (
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Results of a benchmark; report.json.
type Results struct {
	// Version of this format.
	Version int `json:"version"`
	// Machine that it ran on.
	Machine Machine `json:"machine"`
	// Stacks in the order in which they were asked for, whether or not they have runs.
	Stacks []Stack `json:"stacks"`
	// Workloads in the order in which they were asked for, without their gangs.
	Workloads []Workload `json:"workloads"`
	// Rounds that were asked for.
	Rounds int `json:"rounds"`
	// Interrupted is true when the benchmark was ended before its last round.
	Interrupted bool `json:"interrupted,omitempty"`
	// Runs in the order in which they were played.
	Runs []Run `json:"runs"`
}

// Version of the format of Results.
const Version = 1

// Machine is where a benchmark ran.
type Machine struct {
	Processors int    `json:"processors"`
	CPU        string `json:"cpu"`
	// MemoryBytes of the machine.
	MemoryBytes int64  `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	// Commit of this repository, with "+" when the tree has changes; "" when unknown.
	Commit string `json:"commit,omitempty"`
	// APIServerShare of the time was what the API server had, on a machine that was made slow on purpose. 0:
	// always.
	APIServerShare float64 `json:"apiServerShare,omitempty"`
}

// Stack is one way of running gangs.
type Stack struct {
	// Name such as "ours/volcano", "raw/volcano", "trainer/volcano", "volcano-job".
	Name string `json:"name"`
	// Title for people, such as "TrainingJob on Volcano".
	Title string `json:"title"`
	// Floor is the name of the stack that writes the same groups and pods raw to the same scheduler; of a raw
	// stack it is its own name. Times are compared with the floor's of the same round.
	Floor string `json:"floor"`
	// Ours is true for the TrainingJob operator.
	Ours bool `json:"ours,omitempty"`
	// Configuration is the name of a configuration of one's own that the scheduler has, "" for the one that
	// ships. Name ends in it, after an @.
	Configuration string `json:"configuration,omitempty"`
	// Versions of its programs by name, such as {"volcano": "v1.14.1"}.
	Versions map[string]string `json:"versions"`
	// Settings that matter for a comparison, in the order to be shown: client limits, workers, the scheduler's
	// period.
	Settings []Setting `json:"settings"`
}

// Shipped is the name of the same stack with the configuration that ships.
func (s Stack) Shipped() string {
	if s.Configuration == "" {
		return s.Name
	}
	return strings.TrimSuffix(s.Name, "@"+s.Configuration)
}

// Setting of a program of a stack.
type Setting struct {
	Program string `json:"program"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	// Stock is true when the value is the program's own default.
	Stock bool `json:"stock"`
}

// Workload is what the report says of a workload.
type Workload struct {
	Name     string         `json:"name"`
	Question string         `json:"question"`
	Nodes    int            `json:"nodes"`
	GPUs     int            `json:"gpus"`
	Gangs    int            `json:"gangs"`
	Ranks    int            `json:"ranks"`
	End      workload.End   `json:"end"`
	LeftOut  map[string]int `json:"leftOut,omitempty"`
	// Changed and FirstLine are as of workload.Workload.
	Changed   map[string]int `json:"changed,omitempty"`
	FirstLine map[string]int `json:"firstLine,omitempty"`
}

// Run is one workload, played once on one stack.
type Run struct {
	Stack    string `json:"stack"`
	Workload string `json:"workload"`
	// Round from 1. Stacks of one round ran one after the other and are compared with each other.
	Round int `json:"round"`
	// Repeat is 1 for the second run of a stack in the same round, which the A/A comparison uses.
	Repeat int `json:"repeat,omitempty"`
	// Began is the wall clock at the start.
	Began time.Time `json:"began"`
	// Error is why the run could not be played; its measures are then empty.
	Error string `json:"error,omitempty"`
	// CutAfter is more than zero when the run was ended by its bound, in seconds.
	CutAfter float64 `json:"cutAfter,omitempty"`
	// Seconds from the first submission to the last event that the workload waits for (its End); CutAfter when
	// it was cut.
	Seconds float64 `json:"seconds"`
	// Gangs of the workload in its order.
	Gangs []Gang `json:"gangs"`
	// Curves over the time of the run.
	Curves Curves `json:"curves"`
	// Writes to the API by client (the user agent up to the first slash), then by "verb resource".
	Writes map[string]map[string]int `json:"writes"`
	// IdleWrites are those after the End, while the cluster was left alone, in the same form: empty when there
	// were none, null when it was not left alone.
	IdleWrites map[string]map[string]int `json:"idleWrites"`
	// CPU seconds by program.
	CPU map[string]float64 `json:"cpu"`
	// PeakMemory in bytes (resident) by program.
	PeakMemory map[string]int64 `json:"peakMemory"`
	// HeldIncomplete are GPU-seconds that ranks held, bound, while their gang was not complete.
	HeldIncomplete float64 `json:"heldIncomplete"`
	// BusyGPUSeconds are GPU-seconds in which gangs trained, and LostGPUSeconds those of them that had to be
	// done again after an interruption.
	BusyGPUSeconds float64 `json:"busyGPUSeconds"`
	LostGPUSeconds float64 `json:"lostGPUSeconds"`
	// Inversions counts gangs that got all of their ranks bound while one of a higher priority, which needs no
	// more GPUs and had arrived before, was still waiting.
	Inversions int `json:"inversions"`
}

// Gang is what happened to one gang. Times are seconds after the start of the run; -1 means never.
type Gang struct {
	Name     string            `json:"name"`
	Ranks    int               `json:"ranks"`
	GPUs     int               `json:"gpus"`
	Priority workload.Priority `json:"priority"`
	// Submitted is when the request that creates it was sent.
	Submitted float64 `json:"submitted"`
	// Admitted is when the scheduler or the queue let it go ahead, as its group says; on schedulers that say no
	// such thing, when its first rank was bound.
	Admitted float64 `json:"admitted"`
	// Created is when the last of its pods existed, Bound when all of them were bound at the same time, Running
	// when all ran, each for the first time.
	Created float64 `json:"created"`
	Bound   float64 `json:"bound"`
	Running float64 `json:"running"`
	// Finished is when its training was done, or when it was deleted by its user.
	Finished float64 `json:"finished"`
	// Interruptions of its training, and for each that ended, the seconds until it trained again.
	Interruptions int       `json:"interruptions,omitempty"`
	Resumes       []float64 `json:"resumes,omitempty"`
	// LostSeconds of training, of the whole gang, that had to be done again.
	LostSeconds float64 `json:"lostSeconds,omitempty"`
}

// Curves are sampled at the same times.
type Curves struct {
	// Seconds after the start of the run, ascending.
	Seconds []float64 `json:"seconds"`
	// Created, Admitted, Bound and Finished are gangs that have reached that; Training are those that train
	// then.
	Created  []int `json:"created"`
	Admitted []int `json:"admitted"`
	Bound    []int `json:"bound"`
	Finished []int `json:"finished"`
	Training []int `json:"training"`
	// BusyGPUs are held by gangs that are complete, HeldGPUs by ranks of others.
	BusyGPUs []int `json:"busyGPUs"`
	HeldGPUs []int `json:"heldGPUs"`
}
