//go:build cluster

package gates

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const root = "../.."

// arrivalTime is how long the jobs of either number take to arrive, so that what is done now and then is done
// as often for each of them.
const arrivalTime = 20 * time.Second

// queueing is a workload of jobs with one rank each, of which half run and the others wait.
func queueing(jobs int) workload.Workload {
	w := workload.Workload{
		Name: fmt.Sprintf("queueing-%d", jobs), Question: "What does each of so many jobs cost?",
		Nodes: nodes, GPUsPerNode: jobs / nodes / 2, End: workload.EndPlaced, Idle: 10 * time.Second,
		Cut: 10 * time.Minute,
	}
	for i := range jobs {
		w.Gangs = append(w.Gangs, workload.Gang{
			Name: fmt.Sprintf("gang-%04d", i), Ranks: 1, GPUs: 1, Priority: workload.PriorityNormal,
			At: arrivalTime * time.Duration(i) / time.Duration(jobs),
		})
	}
	return w
}

// TestWorkPerJob: what the operator does for a job does not grow with the number of jobs. All of its code is
// counted, so a pass that should not be is found as well as a comparison with all others.
func TestWorkPerJob(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "operator")
	// A program whose main package is not among them writes no counters.
	command(t, root, "go", "build", "-cover", "-covermode", "atomic",
		"-coverpkg", "mlplatform.example.com/trainingjob-operator/api/...,./pkg/...,./scheduler/...,./cmd/operator",
		"-o", binary, "./cmd/operator")
	const few, many = 100, 1000
	counted := map[int]work{}
	for _, jobs := range []int{few, many} {
		counted[jobs] = workFor(t, binary, queueing(jobs))
	}
	for _, g := range growing(counted[few], counted[many], few, many) {
		t.Error(g)
	}
}

// workFor plays a workload and returns what the operator did, from its start to its end.
func workFor(t *testing.T, binary string, w workload.Workload) work {
	t.Helper()
	counters := t.TempDir()
	t.Setenv("GOCOVERDIR", counters) // the operator's process inherits it
	b := &rounds.Benchmark{
		Stacks:    []stack.Stack{stack.Ours(localcluster.SchedulerVolcano)},
		Workloads: []workload.Workload{w}, Rounds: 1, Cold: true,
		Operator: binary, CRDs: abs(t, "deploy/crd"), Out: t.TempDir(), Progress: t.Output(),
	}
	results := b.Results()
	if err := b.Run(t.Context(), &results); err != nil {
		t.Fatal(err)
	}
	if r := results.Runs[0]; r.Error != "" || r.CutAfter > 0 {
		t.Fatalf("%s: cut after %.0f s, error %q", w.Name, r.CutAfter, r.Error)
	} else {
		t.Logf("%s: %.1f s, writes %v, idle %v, CPU %v", w.Name, r.Seconds, r.Writes["operator"], r.IdleWrites,
			r.CPU)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	command(t, root, "go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile)
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	counted, err := readWork(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return counted
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
