//go:build cluster

package checkpoints

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// history has every version of the jobs and pods of a namespace, however short-lived.
type history struct {
	mu   sync.Mutex
	jobs []*v1alpha1.TrainingJob
	pods []*corev1.Pod
	gone map[*corev1.Pod]bool
}

// record until the test ends.
func record(t *testing.T, namespace string) *history {
	t.Helper()
	c, err := client.NewWithWatch(cluster.RESTConfig(), client.Options{Scheme: cluster.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{gone: map[*corev1.Pod]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, list := range []client.ObjectList{&v1alpha1.TrainingJobList{}, &corev1.PodList{}} {
		all.Go(func() {
			for ctx.Err() == nil {
				w, err := c.Watch(ctx, list, client.InNamespace(namespace))
				if err != nil {
					select {
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond):
					}
					continue
				}
				for e := range w.ResultChan() {
					h.add(e)
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	return h
}

func (h *history) add(e watch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := e.Object.(type) {
	case *v1alpha1.TrainingJob:
		h.jobs = append(h.jobs, o)
	case *corev1.Pod:
		h.pods = append(h.pods, o)
		h.gone[o] = e.Type == watch.Deleted
	}
}

// job returns all versions of a job, the oldest first.
func (h *history) job(name string) []*v1alpha1.TrainingJob {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.jobs), func(j *v1alpha1.TrainingJob) bool { return j.Name != name })
}

// podsOf returns all versions of the ranks of an attempt, the oldest first.
func (h *history) podsOf(job string, attempt int32) []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.pods), func(p *corev1.Pod) bool {
		return p.Labels[v1alpha1.LabelJobName] != job ||
			p.Labels[v1alpha1.LabelAttempt] != strconv.Itoa(int(attempt)) ||
			p.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver
	})
}

// now returns the latest versions of an attempt's pods by name, and which of them are gone.
func (h *history) now(job string, attempt int32) (last map[string]*corev1.Pod, gone map[string]bool) {
	last, gone = map[string]*corev1.Pod{}, map[string]bool{}
	for _, p := range h.podsOf(job, attempt) {
		last[p.Name] = p
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, p := range last {
		gone[name] = h.gone[p]
	}
	return last, gone
}

// resolvers returns all versions of the job's resolver pods.
func (h *history) resolvers(job string) []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.pods), func(p *corev1.Pod) bool {
		return p.Name != job+"-resolve" || p.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentResolver
	})
}

// lastReport returns what the agent of an attempt's rank 0 left as termination message; nil if none was seen.
func (h *history) lastReport(job string, attempt int32) (word *checkpoint.Termination) {
	for _, p := range h.podsOf(job, attempt) {
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				if w, err := checkpoint.ParseTermination([]byte(t.Message)); err == nil && w.Step != nil {
					word = w // no other rank knows the step
				}
			}
		}
	}
	return word
}
