package trainingjob

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// ending is the end of a rank: its time, the time of the kubelet's report, and the exit code.
type ending struct {
	pod          string
	at, reported time.Duration
	code         int32
}

// TestReconcileTimingKeepsOutcome ends several ranks within three seconds, in seeded random ways. One
// operator reconciles four times a second, another one reconciles once after all ends. Both must count the
// same restarts and preemptions.
func TestReconcileTimingKeepsOutcome(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		job, ends, preempted := randomEndings(rng)
		frequent, log := playEndings(t, seed, job, ends, preempted, true)
		late, lateLog := playEndings(t, seed, job, ends, preempted, false)
		if frequent != late {
			t.Fatalf("seed %d, %+v, preempted %q:\n%s\nin one reconcile:\n%s", seed, ends, preempted, log, lateLog)
		}
		outcomes[frequent]++
	}
	t.Logf("outcomes: %v", outcomes)
	if len(outcomes) < 5 {
		t.Errorf("only outcomes %v: too few for a meaningful test", outcomes)
	}
}

// randomEndings returns a job, the ends of some of its ranks, and a rank that is preempted first, or "".
func randomEndings(rng *rand.Rand) (job *v1alpha1.TrainingJob, ends []ending, preempted string) {
	job = jobtest.New(3)
	pods := []string{"bert-worker-0", "bert-worker-1", "bert-worker-2"}
	if rng.IntN(2) == 0 {
		jobtest.Roles(job)
		pods = []string{"bert-master-0", "bert-worker-0", "bert-worker-1"}
	}
	policies := []v1alpha1.RestartPolicy{
		v1alpha1.RestartOnFailure, v1alpha1.RestartExitCode, v1alpha1.RestartExitCode, v1alpha1.RestartNever,
	}
	job.Spec.RestartPolicy = policies[rng.IntN(len(policies))]
	job.Spec.BackoffLimit = new(rng.Int32N(2))
	rng.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for _, pod := range pods[:2+rng.IntN(2)] {
		at := time.Duration(rng.IntN(12)) * 250 * time.Millisecond
		ends = append(ends, ending{
			pod: pod, at: at, reported: at + time.Duration(rng.IntN(5))*250*time.Millisecond,
			code: []int32{0, 1, 2, 137, 139}[rng.IntN(5)],
		})
	}
	if rng.IntN(4) == 0 && len(ends) == 2 {
		preempted = pods[2]
		for i := range ends { // the frequent operator stops a rank before it could exit 0
			ends[i].code = max(1, ends[i].code)
		}
	}
	return job, ends, preempted
}

// playEndings plays the ends, with frequent reconciles or with one after all ends. It returns phase, restarts
// and preemptions, and the log.
func playEndings(
	t *testing.T, seed uint64, job *v1alpha1.TrainingJob, ends []ending, preempted string, frequent bool,
) (outcome, log string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 4))
	sim := newSimulation(t, job.DeepCopy())
	sim.checksOwners = 11
	sim.oldKubelets = rng.IntN(2) == 0
	runGang(sim)
	sim.podsLinger = true
	begin, deleted := sim.now, map[string]time.Time{}
	ends = slices.Clone(ends)
	over := func() bool {
		ph := sim.job.Status.Phase
		return ph != v1alpha1.PhaseRunning && ph != v1alpha1.PhaseDraining
	}
	if preempted != "" {
		sim.preempt(preempted)
	}
	for ; sim.now.Sub(begin) < 20*time.Second && !over(); sim.now = sim.now.Add(250 * time.Millisecond) {
		passed := sim.now.Sub(begin)
		ends = slices.DeleteFunc(ends, func(e ending) bool {
			at, ended := deleted[e.pod], false
			if at.IsZero() || begin.Add(e.at).Before(at) { // otherwise the deletion came first
				if ended = passed >= e.reported; ended {
					sim.exitAt(begin.Add(e.at), e.code, e.pod)
				}
				return ended
			}
			return true
		})
		for _, p := range slices.Clone(sim.pods) {
			if p.DeletionTimestamp == nil || observation.Ended(p) {
				continue
			}
			pending := slices.ContainsFunc(ends, func(e ending) bool { return e.pod == p.Name })
			if at := deleted[p.Name]; at.IsZero() {
				deleted[p.Name] = sim.now
			} else if !pending && sim.now.Sub(at) > time.Second {
				sim.exit([]int32{0, 1, 143}[rng.IntN(3)], p.Name)
			}
		}
		if frequent || len(ends) == 0 {
			sim.converge()
		}
	}
	st := sim.job.Status
	reason := ""
	if n := len(st.Transitions); n > 0 {
		reason = st.Transitions[n-1].Reason
	}
	return fmt.Sprintf("%s (%s), restarts %d, preemptions %d", st.Phase, reason, st.Restarts, st.Preemptions),
		sim.log.String()
}
