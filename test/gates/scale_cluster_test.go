//go:build cluster

package gates

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/scale"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestSmallScale is a small step on a real control plane.
func TestSmallScale(t *testing.T) { playSmall(t, localcluster.SchedulerNative) }

// TestSmallSimulatedScale is the same with everything simulated but the operator.
func TestSmallSimulatedScale(t *testing.T) { playSmall(t, scale.Simulated) }

// playSmall plays a step of the benchmark of sizes, and holds what must hold at every size: an operator
// writes nothing while nothing happens, and no rank notices that it was killed or that another one leads.
func playSmall(t *testing.T, scheduler string) {
	t.Helper()
	t.Parallel() // most of the time they wait until nothing is written
	size := scale.Size{Nodes: 10, Gangs: 10, Waiting: 40}
	b := &scale.Benchmark{
		Plan: []scale.Planned{{Scheduler: scheduler, Size: size}}, Idle: 10 * time.Second,
		Operator: harness.Program(t, "operator"), CRDs: abs(t, "deploy/crd"),
		Out: t.TempDir(), Progress: t.Output(),
	}
	var results scale.Results
	if err := b.Run(t.Context(), &results); err != nil {
		t.Fatal(err)
	}
	step := results.Steps[0]
	if step.Broke != "" {
		t.Fatal(step.Broke)
	}
	checkStep(t, step)
}

func checkStep(t *testing.T, step scale.Step) {
	t.Helper()
	phase := func(name string) scale.Phase {
		p, ok := step.Phase(name)
		if !ok {
			t.Errorf("phase %s was not played", name)
		}
		t.Logf("%s: %+v", name, p)
		return p
	}
	const program = "operator"
	if p := phase(scale.Fill); p.Again != step.Size.Ranks() || p.Writes[program] == 0 {
		t.Errorf("%d ranks were created with %d writes, want %d ranks", p.Again, p.Writes[program],
			step.Size.Ranks())
	}
	if p := phase(scale.Queue); p.Writes[program] == 0 || p.Lost > 0 {
		t.Errorf("while jobs queued the operator wrote %d times, and %d ranks were lost", p.Writes[program], p.Lost)
	}
	if p := phase(scale.Idle); p.Writes[program] != 0 {
		t.Errorf("the operator wrote %d times while nothing happened", p.Writes[program])
	}
	// A victim's next attempt may be faster than the gang that took its place: then another one is preempted.
	if p := phase(scale.Preempt); len(p.Answers) < p.Jobs || p.Lost == 0 {
		t.Errorf("%d gangs preempted %d, of which %d ranks were lost", p.Jobs, len(p.Answers), p.Lost)
	}
	for _, name := range []string{scale.Restart, scale.Failover} {
		if p := phase(name); p.ReadySeconds <= 0 || p.Lost > 0 || p.Again > 0 {
			t.Errorf("%s: ready after %g s, %d ranks were lost and %d created", name, p.ReadySeconds, p.Lost, p.Again)
		}
	}
}
