package trainingjob

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestRecordedHistories plays random histories, and compares the records of package history with the written
// statuses: in any order, and with some statuses missing.
func TestRecordedHistories(t *testing.T) {
	attempts, preemptions, lost, full := 0, 0, 0, 0
	for seed := range uint64(60) {
		versions := recordedHistory(t, seed)
		rng := rand.New(rand.NewPCG(seed, 12))
		var records []history.Record
		for _, v := range versions {
			records = append(records, history.Of("lab", v, history.Options{}))
		}
		all := mergedRecords(records)
		checkRecord(t, versions, all)
		shuffled := slices.Clone(records)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(all, mergedRecords(shuffled)); diff != "" {
			t.Errorf("the order changes the record:\n%s", diff)
		}
		seen := slices.DeleteFunc(shuffled, func(history.Record) bool { return rng.IntN(3) > 0 })
		some := mergedRecords(append(seen, records[len(records)-1]))
		if diff := cmp.Diff(all, history.Merge(all, some)); diff != "" {
			t.Errorf("a subset of the statuses adds to the record:\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if len(all.Transitions) > len(versions[len(versions)-1].Status.Transitions) {
			full++
		}
		attempts, preemptions = attempts+len(all.Attempts), preemptions+len(all.Preemptions)
		for _, a := range all.Attempts {
			if a.Lost != nil && *a.Lost != (history.Loss{}) {
				lost++
			}
		}
	}
	t.Logf("%d attempts, %d preemptions, %d with losses, %d histories longer than a status keeps",
		attempts, preemptions, lost, full)
	if attempts < 200 || preemptions < 50 || lost < 5 || full < 5 {
		t.Error("the histories cover too few cases")
	}
}

func mergedRecords(records []history.Record) history.Record {
	var all history.Record
	for _, r := range records {
		all = history.Merge(all, r)
	}
	return all
}

// recordedHistory returns a job after each write of its status.
func recordedHistory(t *testing.T, seed uint64) []*v1alpha1.TrainingJob {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 13))
	job := jobtest.New(2 + rng.Int32N(3))
	job.Spec.BackoffLimit = new(int32(1000))
	if rng.IntN(2) == 0 {
		jobtest.Checkpoints(job)
	}
	sim := newSimulation(t, job)
	versions := []*v1alpha1.TrainingJob{sim.job.DeepCopy()}
	for range 120 {
		for range rng.IntN(8) {
			before := sim.statusWrites
			sim.reconcile()
			if sim.statusWrites > before+1 {
				t.Fatalf("seed %d: one reconcile writes %d times", seed, sim.statusWrites-before)
			}
			if sim.statusWrites > before {
				versions = append(versions, sim.job.DeepCopy())
			}
		}
		sim.randomEvent(rng)
		sim.randomTraining(rng)
		sim.obeySIGTERM(rng)
		clear(sim.hanging)
	}
	for i, v := range versions {
		v.ResourceVersion = strconv.Itoa(7 + 3*i)
	}
	if t.Failed() {
		t.Fatalf("seed %d:\n%s", seed, sim.log.String())
	}
	return versions
}

// checkRecord compares the record of all versions with the differences between successive versions.
func checkRecord(t *testing.T, versions []*v1alpha1.TrainingJob, r history.Record) {
	t.Helper()
	type entry struct {
		phase   v1alpha1.Phase
		reason  string
		attempt int32
	}
	happened, recorded := map[entry]int{}, map[entry]int{}
	counted := map[int32]bool{}
	for i, v := range versions[1:] {
		was, is := &versions[i].Status, &v.Status
		if was.Phase != is.Phase {
			last := is.Transitions[len(is.Transitions)-1]
			happened[entry{last.Phase, last.Reason, max(1, is.Attempt)}]++
		}
		if is.Preemptions > was.Preemptions {
			counted[was.Attempt] = true
		}
		if was.Work != nil && is.Attempt > was.Attempt {
			checkLoss(t, r, was, is)
		}
	}
	for _, tr := range r.Transitions {
		recorded[entry{tr.Phase, tr.Reason, tr.Attempt}]++
	}
	if diff := cmp.Diff(happened, recorded); diff != "" {
		t.Errorf("transitions (-happened +recorded):\n%s", diff)
	}
	seen := map[int32]bool{}
	for _, p := range r.Preemptions {
		seen[p.Attempt] = true
		if p.Message == "" || p.Lost == nil {
			t.Errorf("the preemption of attempt %d has no message or no cost", p.Attempt)
		}
	}
	if diff := cmp.Diff(counted, seen); diff != "" {
		t.Errorf("preemptions (-counted +recorded):\n%s", diff)
	}
}

// checkLoss compares the recorded loss of an attempt with the increase of status.work.
func checkLoss(t *testing.T, r history.Record, was, is *v1alpha1.TrainingJobStatus) {
	t.Helper()
	want := history.Loss{
		Steps: is.Work.LostSteps - was.Work.LostSteps, Seconds: is.Work.LostSeconds - was.Work.LostSeconds,
		GPUSeconds: is.Work.LostGPUSeconds - was.Work.LostGPUSeconds,
	}
	for _, a := range r.Attempts {
		if a.Number == was.Attempt && (a.Lost == nil || *a.Lost != want) {
			t.Errorf("attempt %d lost %+v, the record has %+v", a.Number, want, a.Lost)
		}
	}
}
