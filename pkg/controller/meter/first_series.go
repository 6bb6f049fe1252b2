package meter

import (
	"sync"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Reasons and causes that are labels of counters.
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
		v1alpha1.CauseSuspend, v1alpha1.CauseBrokered, v1alpha1.CauseHang,
		v1alpha1.CauseRehearsal,
	}
)

// labelled is the set of labels of a series: a namespace, also a queue, or also a priority.
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

// first returns true the first time that it is called with a scope.
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

// BeginSeries creates the series of a job at 0, before there is anything to count. Prometheus computes a rate
// from the growth since it first saw a series: a series that begins with its first preemption never shows it.
//
// The series of a queue begin when a gang of it has nodes, since until then a queue's name is any text of a
// user (see maxQueues). So the histogram counts the first wait in a queue, but no rate includes it.
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

// beginQueue is BeginSeries for the series with a queue.
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
