package scale

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// ResultsFile is the name of the file that Results are kept in.
const ResultsFile = "scale.json"

// Results of a benchmark of sizes.
type Results struct {
	Machine result.Machine `json:"machine"`
	// Steps in the order in which they were played.
	Steps []Step `json:"steps"`
}

// Step is one size on one scheduler.
type Step struct {
	Scheduler string `json:"scheduler"`
	Size      Size   `json:"size"`
	// Phases that were played, in this order; all of them where nothing broke.
	Phases []Phase `json:"phases"`
	// BrokeIn is the phase in which something did not come within its time, after which nothing more was played;
	// "" for none. Broke says what.
	BrokeIn string `json:"brokeIn,omitempty"`
	Broke   string `json:"broke,omitempty"`
}

// Names of phases, in the order in which they are played.
const (
	// Fill: the gangs that hold the cluster are submitted, until all run.
	Fill = "fill"
	// Queue: the jobs that wait are submitted, until all say that they do.
	Queue = "queue"
	// Idle: nothing happens, see Benchmark.Idle.
	Idle = "idle"
	// Restart: the operator is killed, and started again.
	Restart = "restart"
	// Failover: of two operators the one that leads is killed.
	Failover = "failover"
	// Preempt: gangs of high priority are submitted one after the other, each as soon as the last one runs. It
	// comes last, since how long it takes is up to the scheduler.
	Preempt = "preempt"
)

// phaseNames in the order in which they are played.
func phaseNames() []string { return []string{Fill, Queue, Idle, Restart, Failover, Preempt} }

// Phase of a step.
type Phase struct {
	Name string `json:"name"`
	// Jobs that it was about.
	Jobs int `json:"jobs"`
	// Seconds until what it waits for had come.
	Seconds float64 `json:"seconds"`
	// CPU seconds and peaks of memory in bytes, by program, until nothing more was written.
	CPU        map[string]float64 `json:"cpu"`
	PeakMemory map[string]int64   `json:"peakMemory"`
	// Writes to the API by client, until then, and those of the operator by what they were.
	Writes         map[string]int `json:"writes"`
	OperatorWrites measure.Writes `json:"operatorWrites,omitempty"`
	// ReadySeconds until the started operator reported that it was ready; in Failover, from the end of the
	// leader until the other operator had queued a new job.
	ReadySeconds float64 `json:"readySeconds,omitempty"`
	// Answers to preemptions in seconds, sorted: from the first end of a rank of a victim until its last rank
	// was gone.
	Answers []float64 `json:"answers,omitempty"`
	// Entries of the gangs that preempt in seconds, sorted: from the submission until the last rank had a node.
	Entries []float64 `json:"entries,omitempty"`
	// Lost ranks ended, and Again ranks were created, of gangs that nothing should have happened to.
	Lost  int `json:"lost"`
	Again int `json:"again"`
}

// Phase of a name, and false where it was not played.
func (s Step) Phase(name string) (Phase, bool) {
	for _, p := range s.Phases {
		if p.Name == name {
			return p, true
		}
	}
	return Phase{}, false
}

// Load results from a folder; none where it has none.
func Load(dir string) (Results, error) {
	var r Results
	text, err := os.ReadFile(filepath.Join(dir, ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("reading results: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("reading %s in %s: %w", ResultsFile, dir, err)
	}
	return r, nil
}

// has reports whether a step was played.
func (r *Results) has(scheduler string, size Size) bool {
	for _, s := range r.Steps {
		if s.Scheduler == scheduler && s.Size == size {
			return true
		}
	}
	return false
}

// save the results to a folder, whole or not at all.
func (r *Results) save(dir string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encoding results: %w", err)
	}
	return result.WriteWhole(filepath.Join(dir, ResultsFile), append(text, '\n'))
}
