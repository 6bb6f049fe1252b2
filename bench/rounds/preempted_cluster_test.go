//go:build cluster

package rounds

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Kueue's floor is the one that gives its place back by itself; the other schedulers take it.
var preempted = flag.String("preempted", "raw/kueue", "the stacks that TestPreempted plays, see bench list")

// TestPreempted plays a small storm: waves of high priority preempt gangs that train. The gangs of the floor
// must be preempted too, otherwise the comparison would be invalid.
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
	stacks, err := stack.Named(strings.Split(*preempted, ","), stack.Stock)
	if err != nil {
		t.Fatal(err)
	}
	b := &Benchmark{Progress: t.Output()}
	for to, path := range map[*string]string{&b.Operator: "../../bin/operator", &b.CRDs: "../../deploy/crd"} {
		if *to, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range stacks {
		t.Run(s.Describe().Name, func(t *testing.T) { preempt(t, b, s, w) })
	}
}

func preempt(t *testing.T, b *Benchmark, s stack.Stack, w workload.Workload) {
	on, err := b.take(t.Context(), s, t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer on.end(t.Context()) //nolint:errcheck // attached: it ends with this process
	on.player.Keep = true
	run, err := b.playOne(t.Context(), on, w, w.Name)
	if err != nil {
		t.Fatal(err)
	}
	interruptions := 0
	for _, g := range run.Gangs {
		interruptions += g.Interruptions
	}
	// Half of the cluster is taken at least once.
	least := len(w.Gangs) / 4
	if run.CutAfter > 0 || interruptions < least || run.LostGPUSeconds == 0 {
		t.Errorf("%d interruptions, want %d at least, which lost %.0f GPU-seconds; cut after %.0f s",
			interruptions, least, run.LostGPUSeconds, run.CutAfter)
	}
}
