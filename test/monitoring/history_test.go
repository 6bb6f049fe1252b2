//go:build cluster

package monitoring

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// history is every version of the jobs of a namespace, as the API server tells of them: what the figures of
// Prometheus are compared with.
type history struct {
	mu       sync.Mutex
	versions []*v1alpha1.TrainingJob
}

// record until the test ends.
func record(t *testing.T, c *harness.Cluster, namespace string) *history {
	t.Helper()
	watcher, err := client.NewWithWatch(c.RESTConfig(), client.Options{Scheme: c.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := watcher.Watch(ctx, &v1alpha1.TrainingJobList{}, client.InNamespace(namespace))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	h, done := &history{}, make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if job, is := e.Object.(*v1alpha1.TrainingJob); is && e.Type != watch.Deleted {
				h.mu.Lock()
				h.versions = append(h.versions, job)
				h.mu.Unlock()
			}
		}
		if ctx.Err() == nil {
			t.Error("the watch has ended: the history has a gap")
		}
	}()
	t.Cleanup(func() { cancel(); w.Stop(); <-done })
	return h
}

// now is the last version of each job by name.
func (h *history) now() map[string]*v1alpha1.TrainingJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	jobs := map[string]*v1alpha1.TrainingJob{}
	for _, job := range h.versions {
		jobs[job.Name] = job
	}
	return jobs
}

// changes calls f with every two versions of a job that follow each other, the first after an empty one.
func (h *history) changes(f func(before, after *v1alpha1.TrainingJob)) {
	h.mu.Lock()
	versions := slices.Clone(h.versions)
	h.mu.Unlock()
	last := map[string]*v1alpha1.TrainingJob{}
	for _, job := range versions {
		before := last[job.Name]
		if before == nil {
			before = &v1alpha1.TrainingJob{}
		}
		f(before, job)
		last[job.Name] = job
	}
}

// count the jobs for which value is not "", by value.
func (h *history) count(value func(*v1alpha1.TrainingJob) string) map[string]float64 {
	n := map[string]float64{}
	for _, job := range h.now() {
		if v := value(job); v != "" {
			n[v]++
		}
	}
	return n
}

// sum over the jobs.
func (h *history) sum(value func(*v1alpha1.TrainingJob) float64) float64 {
	var sum float64
	for _, job := range h.now() {
		sum += value(job)
	}
	return sum
}

// stays are how long a job was in a phase, each time, by its transitions.
func stays(job *v1alpha1.TrainingJob, phase v1alpha1.Phase) (all []time.Duration) {
	ts := job.Status.Transitions
	for i := 1; i < len(ts); i++ {
		if ts[i-1].Phase == phase {
			all = append(all, ts[i].Time.Sub(ts[i-1].Time.Time))
		}
	}
	return all
}

// runningGPUSeconds of a job, by its transitions.
func runningGPUSeconds(job *v1alpha1.TrainingJob) float64 {
	var sum float64
	for _, stay := range stays(job, v1alpha1.PhaseRunning) {
		sum += stay.Seconds()
	}
	return sum * float64(job.Status.GPUs)
}

// waits are from when the gang was queued until it ran, of each attempt that did.
func waits(job *v1alpha1.TrainingJob) (all []time.Duration) {
	var queued time.Time
	for _, tr := range job.Status.Transitions {
		switch tr.Phase {
		case v1alpha1.PhaseQueued:
			queued = tr.Time.Time
		case v1alpha1.PhaseRunning:
			all = append(all, tr.Time.Sub(queued))
		}
	}
	return all
}
