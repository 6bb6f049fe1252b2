package trainingjob

import (
	"encoding/json"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestWritesUntilRunning checks that a gang that starts at once causes two status writes, Queued and Running.
func TestWritesUntilRunning(t *testing.T) {
	sim := newSimulation(t, jobtest.New(8))
	sim.converge()
	sim.bind()
	sim.converge()
	for _, n := range sim.rankNames() {
		sim.start(n)
		sim.converge()
	}
	if sim.job.Status.Phase != v1alpha1.PhaseRunning || sim.statusWrites != 2 {
		t.Errorf("phase %s after %d status writes, want Running after 2", sim.job.Status.Phase, sim.statusWrites)
	}
}

// TestStricterValidationKeepsJobRunning checks that a job keeps running when an upgraded operator rejects its
// spec.
func TestStricterValidationKeepsJobRunning(t *testing.T) {
	sim := newSimulation(t, jobtest.New(2))
	runGang(sim)
	sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9)) // accepted by an older operator
	sim.job.Status.Revision = spec.Revision(sim.job)
	sim.converge()
	if got := sim.job.Status.Phase; got != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s, want Running", got)
	}
	sim.job.Generation++ // the user edits the job
	sim.converge()
	sim.advance(time.Minute)
	sim.converge()
	st := sim.job.Status
	if st.Phase != v1alpha1.PhaseRunning || conditionReason(st, v1alpha1.ConditionInvalidSpec) == "" {
		t.Errorf("the edited job is %s, conditions %v; want Running and InvalidSpec", st.Phase, st.Conditions)
	}
}

// TestLargeJobObjectSize checks the size of a job of 5,000 ranks, half of which have ended, against 100 kB.
// etcd accepts 1.5 MB.
func TestLargeJobObjectSize(t *testing.T) {
	sim := newSimulation(t, jobtest.New(5000))
	runGang(sim)
	for i, name := range sim.rankNames() {
		if i%2 == 0 {
			sim.exit(0, name)
		}
	}
	sim.advance(time.Minute)
	sim.converge()
	text, err := json.Marshal(sim.job)
	if err != nil {
		t.Fatal(err)
	}
	if got := sim.job.Status.ReplicaStatuses[v1alpha1.RoleWorker].Succeeded; got != 2500 {
		t.Errorf("%d ranks have succeeded, want 2500", got)
	}
	if most := 100_000; len(text) > most {
		t.Errorf("the object has %d bytes, want at most %d", len(text), most)
	}
}

// TestAllocationsOfDecide limits the allocations of a decision, which every event of a job causes. The
// allocations per rank must not grow with the number of ranks.
func TestAllocationsOfDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		running       bool
		most, perRank float64
	}{
		"create":  {running: false, most: 150, perRank: 5.5},
		"running": {running: true, most: 700, perRank: 5.5},
	} {
		t.Run(name, func(t *testing.T) {
			allocations := func(ranks int32) float64 {
				s := decisionOn(t, ranks, tc.running)
				return testing.AllocsPerRun(5, func() { Decide(s) })
			}
			small, medium, large := allocations(8), allocations(500), allocations(5000)
			t.Logf("%.0f for 8 ranks, %.0f for 500, %.0f for 5,000", small, medium, large)
			if small > tc.most {
				t.Errorf("%.0f for 8 ranks, want at most %.0f", small, tc.most)
			}
			if each := (large - medium) / 4500; each > tc.perRank {
				t.Errorf("%.2f for each of many ranks, want at most %.2f", each, tc.perRank)
			}
		})
	}
}

// decisionOn returns the snapshot of a job whose ranks are about to be created, or are running.
func decisionOn(t testing.TB, ranks int32, running bool) observation.Snapshot {
	sim := newSimulation(t, jobtest.New(ranks))
	sim.reconcile()
	if running {
		sim.converge()
		sim.bind()
		sim.start()
		sim.converge()
	}
	return sim.snapshot()
}

// BenchmarkDecide measures a decision for 5,000 ranks: one that creates them, and one while they run.
func BenchmarkDecide(b *testing.B) {
	for name, running := range map[string]bool{"create": false, "running": true} {
		b.Run(name, func(b *testing.B) {
			s := decisionOn(b, 5000, running)
			b.ResetTimer()
			for b.Loop() {
				Decide(s)
			}
		})
	}
}
