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

// TestWritesUntilRunning: a gang that runs at once costs two status writes, Queued and Running.
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

// TestStricterRulesFailNobody: a job runs on when an upgraded operator finds fault with a spec that its
// predecessor accepted.
func TestStricterRulesFailNobody(t *testing.T) {
	sim := newSimulation(t, jobtest.New(2))
	runGang(sim)
	sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9)) // as if this had been legal
	sim.job.Status.Revision = spec.Revision(sim.job)
	sim.converge()
	if got := sim.job.Status.Phase; got != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s, want Running", got)
	}
	sim.job.Generation++ // now the user edits it
	sim.converge()
	sim.advance(time.Minute)
	sim.converge()
	st := sim.job.Status
	if st.Phase != v1alpha1.PhaseRunning || conditionReason(st, v1alpha1.ConditionInvalidSpec) == "" {
		t.Errorf("the edited job is %s, conditions %v; want Running and InvalidSpec", st.Phase, st.Conditions)
	}
}

// TestLargeJobIsASmallObject: 5,000 ranks, half of which have ended, stay far below the size that etcd and
// watches can bear.
func TestLargeJobIsASmallObject(t *testing.T) {
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

// TestAllocationsOfDecide bounds what a decision allocates: every event of every job makes one. What a rank
// adds must not grow with the ranks.
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

// decisionOn is a snapshot of a job that is about to be created, or that runs.
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

// BenchmarkDecide is one decision for a job of 5,000 ranks: the one that creates them all, and one while they
// run.
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
