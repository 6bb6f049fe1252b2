//go:build cluster

package stack_test

import (
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// TestPreempted plays a small storm: on every floor and on every scheduler of ours, waves of high priority
// take the place of gangs that train. A floor whose gangs keep their place would be compared with what nobody
// asked for.
func TestPreempted(t *testing.T) {
	log.SetLogger(logr.Discard())
	storm, err := workload.Lookup("storm")
	if err != nil {
		t.Fatal(err)
	}
	w, err := storm.Build(0.2)
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := stack.Named([]string{"raw", "ours"}, stack.Stock)
	if err != nil {
		t.Fatal(err)
	}
	b := &rounds.Benchmark{
		Stacks: stacks, Workloads: []workload.Workload{w}, Rounds: 1, Out: t.TempDir(), Progress: t.Output(),
	}
	for to, path := range map[*string]string{&b.Operator: "../../bin/operator", &b.CRDs: "../../deploy/crd"} {
		if *to, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
	}
	results := b.Results()
	if err := b.Run(t.Context(), &results); err != nil {
		t.Fatal(err)
	}
	// Half of the cluster is taken at least once.
	least := len(w.Gangs) / 4
	for _, run := range results.Runs {
		interruptions := 0
		for _, g := range run.Gangs {
			interruptions += g.Interruptions
		}
		if run.Error != "" || run.CutAfter > 0 || interruptions < least || run.LostGPUSeconds == 0 {
			t.Errorf("%s: %d interruptions, want %d at least, which lost %.0f GPU-seconds; cut after %.0f s: %s",
				run.Stack, interruptions, least, run.LostGPUSeconds, run.CutAfter, run.Error)
		}
	}
	if len(results.Runs) < len(stacks) {
		t.Errorf("%d stacks, %d runs", len(stacks), len(results.Runs))
	}
}
