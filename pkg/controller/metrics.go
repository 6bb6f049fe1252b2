package controller

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// metrics of the operator. None is labelled by a job's name: jobs come and go, series stay.
type metrics struct {
	transitions  *prometheus.CounterVec
	gangWait     prometheus.Histogram
	podsCreated  prometheus.Counter
	podsDeleted  prometheus.Counter
	statusWrites prometheus.Counter
	reports      prometheus.Counter
	passes       prometheus.Counter
	work         *workMetrics
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	var err error
	counter := func(name, help string) prometheus.Counter {
		c, e := register(registry, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
		err = errors.Join(err, e)
		return c
	}
	m := &metrics{
		podsCreated:  counter("trainingjob_pods_created_total", "Pods created."),
		podsDeleted:  counter("trainingjob_pods_deleted_total", "Pods deleted by the operator."),
		statusWrites: counter("trainingjob_status_writes_total", "Writes of a TrainingJob's status."),
		reports:      counter("trainingjob_scheduler_reports_total", "Writes that told a scheduler what became of a gang."),
		passes:       counter("trainingjob_passes_total", "Passes of the reconciler, with or without an effect."),
	}
	var e error
	m.work, e = newWorkMetrics(registry)
	err = errors.Join(err, e)
	m.transitions, e = register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "trainingjob_transitions_total",
		Help: "Changes of phase, by the new phase and the reason.",
	}, []string{"phase", "reason"}))
	err = errors.Join(err, e)
	m.gangWait, e = register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "trainingjob_gang_wait_seconds",
		Help:    "Time from Queued until at least minAvailable ranks run, of every attempt that got there.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 18), // 1 s to 36 h
	}))
	return m, errors.Join(err, e)
}

// register adds a collector, or returns the one that an earlier manager of this process registered.
func register[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	if existing := (prometheus.AlreadyRegisteredError{}); errors.As(err, &existing) {
		if same, ok := existing.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	if err != nil {
		return c, fmt.Errorf("registering a metric: %w", err)
	}
	return c, nil
}

// transition counts a change of phase that is persisted.
func (m *metrics) transition(from, to *v1alpha1.TrainingJobStatus) {
	if from.Phase == to.Phase || len(to.Transitions) == 0 {
		return
	}
	last := to.Transitions[len(to.Transitions)-1]
	m.transitions.WithLabelValues(string(to.Phase), last.Reason).Inc()
	if to.Phase != v1alpha1.PhaseRunning {
		return
	}
	for i := len(to.Transitions) - 1; i >= 0; i-- {
		if to.Transitions[i].Phase == v1alpha1.PhaseQueued {
			m.gangWait.Observe(last.Time.Sub(to.Transitions[i].Time.Time).Seconds())
			return
		}
	}
}
