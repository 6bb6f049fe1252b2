package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/timeline"
)

// observer sees the jobs and the ranks of a namespace.
type observer struct {
	began time.Time
	// changed has a value when something has happened since it was last read.
	changed chan struct{}

	mu    sync.Mutex
	jobs  map[string]v1alpha1.Phase
	count map[v1alpha1.Phase]int
	ranks *ranks
}

// observe begins to watch; the watches end with ctx.
func observe(ctx context.Context, config *rest.Config, namespace string) (*observer, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	o := &observer{
		began: time.Now(), changed: make(chan struct{}, 1), jobs: map[string]v1alpha1.Phase{},
		count: map[v1alpha1.Phase]int{}, ranks: newRanks(),
	}
	now := func() time.Duration { return time.Since(o.began) }
	see := func(e timeline.Event, _ *corev1.Pod) { o.with(func() { o.ranks.see(e) }) }
	if err := measure.WatchPods(ctx, clients, namespace, now, see); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	jobs := v1alpha1.GroupVersion.WithResource("trainingjobs")
	return o, measure.WatchGroups(ctx, dyn, jobs, namespace, trimJob, o.seeJob)
}

// trimJob keeps the name of a job and its phase.
func trimJob(o any) (any, error) {
	job, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	trimmed := &unstructured.Unstructured{Object: map[string]any{}}
	trimmed.SetGroupVersionKind(job.GroupVersionKind())
	trimmed.SetNamespace(job.GetNamespace())
	trimmed.SetName(job.GetName())
	trimmed.SetResourceVersion(job.GetResourceVersion())
	if text, found, err := unstructured.NestedString(job.Object, "status", "phase"); err == nil && found {
		trimmed.Object["status"] = map[string]any{"phase": text}
	}
	return trimmed, nil
}

func (o *observer) seeJob(job *unstructured.Unstructured) {
	text, _, _ := unstructured.NestedString(job.Object, "status", "phase") // absent: not seen by the operator
	phase := v1alpha1.Phase(text)
	o.with(func() {
		if had, ok := o.jobs[job.GetName()]; ok {
			o.count[had]--
		}
		o.jobs[job.GetName()] = phase
		o.count[phase]++
	})
}

// with changes what was seen, and wakes who waits for that.
func (o *observer) with(change func()) {
	o.mu.Lock()
	change()
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// until waits until ok, which is called with the lock held whenever something has happened.
func (o *observer) until(ctx context.Context, ok func() bool) error {
	for {
		o.mu.Lock()
		done := ok()
		o.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// phases says for people which phases jobs are in.
func (o *observer) phases() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var parts []string
	for _, phase := range []v1alpha1.Phase{"", v1alpha1.PhaseQueued, v1alpha1.PhaseStarting,
		v1alpha1.PhaseRunning, v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseFailed} {
		name := string(phase)
		if phase == "" {
			name = "not seen by the operator"
		}
		if n := o.count[phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	return strings.Join(parts, ", ")
}

// answers to preemptions, since the last call.
func (o *observer) answers() []float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := sortedSeconds(o.ranks.answers)
	o.ranks.answers = nil
	return all
}

// disturbed counts the placed ranks that ended so far and the ranks that were created, but for the probes'.
func (o *observer) disturbed() (lost, created int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := func(counts map[string]int) (n int) {
		for gang, count := range counts {
			if !strings.HasPrefix(gang, probePrefix) {
				n += count
			}
		}
		return n
	}
	return sum(o.ranks.lost), sum(o.ranks.created)
}

// errBound ends a phase that takes too long.
var errBound = errors.New("the phase's bound has passed")
