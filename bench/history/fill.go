package history

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// The year that is filled, and who is in it.
const (
	cluster    = "lab"
	namespaces = 40
	users      = 400
	queues     = 60
	// attemptsPerJob on average, from 1 to twice as many less one.
	attemptsPerJob = 5
	// busyAttempts of one job that has all the samples that are kept of each.
	busyAttempts = 20
)

var (
	beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end       = beginning.AddDate(1, 0, 0)
	kinds     = []string{"NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu"}
)

// busy is the job with many samples.
var busy = history.Key{Cluster: cluster, UID: "busy"}

// fill records jobs until there are so many attempts, the oldest first.
func fill(ctx context.Context, s *store.Store, attempts int, progress io.Writer) error {
	rng := rand.New(rand.NewPCG(1, 1))
	jobs := max(1, attempts/attemptsPerJob)
	if err := s.Record(ctx, askedFor(rng)); err != nil {
		return err
	}
	const batch = 1000
	for n := 0; n < jobs; {
		var records []history.Record
		for ; len(records) < batch && n < jobs; n++ {
			created := beginning.Add(time.Duration(float64(n) / float64(jobs) * float64(end.Sub(beginning)))).
				Truncate(time.Second)
			records = append(records,
				made(rng, types.UID(fmt.Sprintf("%08d", n)), created, 1+rng.IntN(2*attemptsPerJob-1), 2))
		}
		if err := s.Record(ctx, records); err != nil {
			return err
		}
		if n%(20*batch) == 0 {
			fmt.Fprintf(progress, "%d of %d jobs are recorded\n", n, jobs)
		}
	}
	return nil
}

// askedFor are jobs that questions are about, so that even a short history has an answer to each.
func askedFor(rng *rand.Rand) []history.Record {
	failed := made(rng, "failed", end.AddDate(0, 0, -20), 1, 1)
	failed.Job.User, failed.Job.Phase = "user-123", v1alpha1.PhaseFailed
	named := made(rng, "named", end.AddDate(0, 0, -20), 1, 1)
	named.Job.Namespace, named.Job.Name = namespace(7), "job-7"
	runs := made(rng, "runs", end.Add(-time.Second), 1, 1)
	runs.Job.Namespace, runs.Job.Queue, runs.Job.Phase = namespace(7), "queue-05", v1alpha1.PhaseRunning
	return []history.Record{
		made(rng, busy.UID, end.AddDate(0, 0, -30), busyAttempts, history.MaxSamples), failed, named, runs,
	}
}

// made is a job with so many attempts, and so many samples in each.
func made(rng *rand.Rand, uid types.UID, at time.Time, attempts, samples int) history.Record {
	user := rng.IntN(users)
	kind := rng.IntN(len(kinds))
	j := history.Job{
		Key: history.Key{Cluster: cluster, UID: uid}, Namespace: namespace(user % namespaces),
		Name: fmt.Sprintf("job-%d", rng.IntN(50)), User: fmt.Sprintf("user-%03d", user),
		Queue: fmt.Sprintf("queue-%02d", (user+rng.IntN(3))%queues), Scheduler: v1alpha1.SchedulerVolcano,
		Framework: "pytorch", ResourceVersion: "900000", GPUs: int64(8 * (1 + rng.IntN(4))), GPUKind: kinds[kind],
		Replicas: 4, Attempt: int32(attempts), Created: at, Work: &v1alpha1.WorkStatus{},
		Message:  "4/4 ranks running; step 12400 of 50000; last checkpoint at step 12000",
		Manifest: []byte(`{"labels":{"team":"vision"},"spec":{"framework":"pytorch","replicas":4}}`),
	}
	r := history.Record{}
	for n := range int32(attempts) {
		at = attempt(rng, &r, j, n+1, at, samples)
		if at.After(end) {
			break
		}
	}
	finish(rng, &r, &j)
	// Merge draws the conclusions.
	r.Job = j
	return history.Merge(r, history.Record{Job: history.Job{Key: j.Key}})
}

// attempt adds one that waits, runs and is preempted, and returns when the next one begins.
func attempt(rng *rand.Rand, r *history.Record, j history.Job, n int32, at time.Time, samples int) time.Time {
	enter := func(phase v1alpha1.Phase, reason string, attempt int32) {
		r.Transitions = append(r.Transitions, history.Transition{
			Time: at, Phase: phase, Reason: reason, Attempt: attempt,
		})
	}
	pass := func(longest int) { at = at.Add(time.Duration(1+rng.IntN(longest)) * time.Second) }
	r.Attempts = append(r.Attempts, history.Attempt{
		Number: n, Seen: true, ResourceVersion: "900000", Replicas: j.Replicas, GPUs: j.GPUs, GPUKind: j.GPUKind,
		Queue: j.Queue,
	})
	lost := int64(n-1) * 60
	r.Counts = append(r.Counts, history.Counts{Attempt: n, Preemptions: n - 1, Lost: history.Loss{
		Steps: lost, Seconds: lost, GPUSeconds: lost * j.GPUs,
	}})
	enter(v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, n)
	pass(3600)
	enter(v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning, n)
	for i := range int64(samples) {
		pass(2 * 3600 / samples)
		r.Samples = append(r.Samples, history.Sample{
			Attempt: n, Step: i * 100, Time: at, Epoch: "0.5", Metrics: map[string]string{"loss": "1.2345"},
		})
	}
	r.Checkpoints = append(r.Checkpoints, history.Checkpoint{
		URI: fmt.Sprintf("pvc://claim/attempt-%d/step", n), Step: int64(n) * 1000, Attempt: n, Time: &at,
	})
	pass(2 * 3600)
	enter(v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted, n)
	pass(60)
	enter(v1alpha1.PhaseRestarting, v1alpha1.ReasonPreempted, n+1)
	pass(60)
	return at
}

// finish makes the job end with its last run, if that is before the end of the year; else it still runs. Jobs
// are deleted a week later.
func finish(rng *rand.Rand, r *history.Record, j *history.Job) {
	r.Transitions = r.Transitions[:len(r.Transitions)-1] // no further attempt
	last := &r.Transitions[len(r.Transitions)-1]
	j.Attempt = r.Attempts[len(r.Attempts)-1].Number
	j.Preemptions = j.Attempt - 1
	if last.Time.After(end) {
		r.Transitions = r.Transitions[:len(r.Transitions)-1]
		j.Phase, j.Reason = v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning
		return
	}
	last.Phase, last.Reason = v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted
	if rng.IntN(4) == 0 {
		last.Phase, last.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonBackoffLimit
	}
	j.Phase, j.Reason, j.Completed = last.Phase, last.Reason, &last.Time
	if gone := last.Time.AddDate(0, 0, 7); gone.Before(end) {
		j.Deleted = &gone
	}
}
