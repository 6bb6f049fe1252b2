package controller

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// metrics are the collectors of MetricDescriptions.
type metrics struct {
	podsCreated, podsDeleted, statusWrites, schedulerReports prometheus.Counter

	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{},
	}
	for _, d := range MetricDescriptions() {
		if err := m.add(registry, d); err != nil {
			return nil, fmt.Errorf("registering metric %s: %w", d.Name, err)
		}
	}
	m.podsCreated = m.counters[metricPodsCreated].WithLabelValues()
	m.podsDeleted = m.counters[metricPodsDeleted].WithLabelValues()
	m.statusWrites = m.counters[metricStatusWrites].WithLabelValues()
	m.schedulerReports = m.counters[metricSchedulerReports].WithLabelValues()
	return m, nil
}

// add registers the collector of a description.
func (m *metrics) add(registry prometheus.Registerer, d MetricDescription) (err error) {
	switch d.Type {
	case counterType:
		opts := prometheus.CounterOpts{Name: d.Name, Help: d.Help}
		m.counters[d.Name], err = register(registry, prometheus.NewCounterVec(opts, d.Labels))
	case histogramType:
		opts := prometheus.HistogramOpts{
			Name: d.Name, Help: d.Help, Buckets: prometheus.ExponentialBuckets(1, 2, 18), // 1 s to 36 h
		}
		m.histograms[d.Name], err = register(registry, prometheus.NewHistogramVec(opts, d.Labels))
	default:
		err = fmt.Errorf("unknown type %q", d.Type)
	}
	return err
}

// register adds a collector, or returns the one that an earlier manager of this process registered.
func register[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	if existing := (prometheus.AlreadyRegisteredError{}); errors.As(err, &existing) {
		if same, ok := existing.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, err
}

// statusWritten counts what a write of the status has added to the status that job still holds. An event that
// is seen twice, or by the next leader, therefore counts once.
func (m *metrics) statusWritten(job *v1alpha1.TrainingJob, to *v1alpha1.TrainingJobStatus) {
	m.statusWrites.Inc()
	if job.Status.Phase != to.Phase && len(to.Transitions) > 0 {
		last := to.Transitions[len(to.Transitions)-1]
		m.counters[metricTransitions].WithLabelValues(string(to.Phase), last.Reason).Inc()
	}
	if to.Work != nil {
		m.addWork(job, to)
	}
}

// addWork counts by namespace and queue what status.work sums by job: what gangs waited for, ran and lost.
func (m *metrics) addWork(job *v1alpha1.TrainingJob, to *v1alpha1.TrainingJobStatus) {
	before := v1alpha1.WorkStatus{}
	if job.Status.Work != nil {
		before = *job.Status.Work
	}
	ns, queue := job.Namespace, spec.Queue(job)
	add := func(name string, from, to int64) {
		if to > from {
			m.counters[name].WithLabelValues(ns, queue).Add(float64(to - from))
		}
	}
	add(metricLostSteps, before.LostSteps, to.Work.LostSteps)
	add(metricLostSeconds, before.LostSeconds, to.Work.LostSeconds)
	add(metricLostGPUSeconds, before.LostGPUSeconds, to.Work.LostGPUSeconds)
	add(metricRunningSeconds, before.RunningSeconds, to.Work.RunningSeconds)
	if n := to.Work.Interruptions - before.Interruptions; n > 0 && job.Status.Drain != nil {
		cause := string(job.Status.Drain.Cause)
		m.counters[metricInterruptions].WithLabelValues(ns, queue, cause).Add(float64(n))
	}
	if job.Status.Phase == v1alpha1.PhaseRunning || to.Phase != v1alpha1.PhaseRunning {
		return
	}
	observe := func(name string, from, to int64) {
		m.histograms[name].WithLabelValues(ns, queue).Observe(float64(to - from))
	}
	observe(metricQueuedSeconds, before.QueuedSeconds, to.Work.QueuedSeconds)
	if to.Work.Interruptions > 0 && to.Work.Resumptions > before.Resumptions {
		observe(metricResumeSeconds, before.ResumeSeconds, to.Work.ResumeSeconds)
	}
}
