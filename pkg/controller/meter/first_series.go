package meter

import (
	"sync"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Reasons and causes that counters are told apart by.
var (
	failureReasons = []string{
		v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonDeadlineExceeded, v1alpha1.ReasonBackoffLimit,
		v1alpha1.ReasonPermanentFailure,
	}
	preemptionReasons = []string{
		v1alpha1.ReasonPreempted, v1alpha1.ReasonEvicted, v1alpha1.ReasonNodeLost, v1alpha1.ReasonPodDeleted,
		v1alpha1.ReasonPodVanished, v1alpha1.ReasonMakesRoom, metric.Other,
	}
	interruptionCauses = []v1alpha1.DrainCause{
		v1alpha1.CauseFailure, v1alpha1.CauseDisruption, v1alpha1.CauseEviction, v1alpha1.CauseScheduleTimeout,
		v1alpha1.CauseStartTimeout, v1alpha1.CauseSpecChange, v1alpha1.CauseRestartRequested,
		v1alpha1.CauseSuspend, v1alpha1.CauseBrokered,
	}
)

// labelled says which labels tell series apart: a namespace alone, a queue in it, or a priority in that.
type labelled int

const (
	byNamespace labelled = iota
	byQueue
	byPriority
)

// seriesScope has the values of these labels, and "" for the others.
type seriesScope struct {
	by                         labelled
	namespace, queue, priority string
}

// firstSeries remembers which namespaces and queues have their series.
type firstSeries struct {
	mu   sync.Mutex
	seen map[seriesScope]bool
}

// first reports whether it is asked for the first time.
func (f *firstSeries) first(s seriesScope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[s] {
		return false
	}
	if f.seen == nil {
		f.seen = map[seriesScope]bool{}
	}
	f.seen[s] = true
	return true
}

// BeginSeries makes the series of what may be counted of a job, at 0, before there is anything to count. A
// rate or an increase is what a series has grown by since Prometheus saw it first: of one that begins with
// its first preemption, that preemption is never seen.
//
// Those of a queue begin when a gang of it has nodes, since a queue's name is a user's text until then (see
// maxQueues). So the first wait in a queue is in its histogram's count, and in no rate.
func (m *Metrics) BeginSeries(job *v1alpha1.TrainingJob) {
	ns := job.Namespace
	if m.begun.first(seriesScope{by: byNamespace, namespace: ns}) {
		m.counters[metricCompleted].WithLabelValues(ns)
		for _, reason := range failureReasons {
			m.counters[metricFailed].WithLabelValues(ns, reason)
		}
		for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed} {
			m.histograms[metricDuration].WithLabelValues(ns, string(phase))
		}
	}
	switch job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
		m.beginQueue(ns, m.queueOf(job), m.priority.Value(spec.PriorityClass(job)))
	}
}

// beginQueue is BeginSeries for what is told apart by queue.
func (m *Metrics) beginQueue(ns, queue, priority string) {
	if m.begun.first(seriesScope{by: byQueue, namespace: ns, queue: queue}) {
		for _, d := range workMetrics() {
			if d.Name != metricInterruptions {
				m.counters[d.Name].WithLabelValues(ns, queue)
			}
		}
		for _, cause := range interruptionCauses {
			m.counters[metricInterruptions].WithLabelValues(ns, queue, string(cause))
		}
		for _, reason := range preemptionReasons {
			m.counters[metricPreemptions].WithLabelValues(ns, queue, reason)
		}
		m.histograms[metricPlacementSeconds].WithLabelValues(ns, queue)
		m.histograms[metricResumeSeconds].WithLabelValues(ns, queue)
	}
	if m.begun.first(seriesScope{byPriority, ns, queue, priority}) {
		m.histograms[metricQueuedSeconds].WithLabelValues(ns, queue, priority)
	}
}

// queueOf is the queue that the gang was submitted to.
func (m *Metrics) queueOf(job *v1alpha1.TrainingJob) string {
	if s := job.Status.Scheduling; s != nil && s.Scheduler != "" {
		return m.queue.Value(s.Queue)
	}
	return m.queue.Value(spec.Queue(job))
}
