package meter

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Bounds on the number of queues and priority classes in labels. A job runs only if its queue and its class
// exist, but users write the text: a user who edits a label repeatedly must not fill the operator's memory.
const (
	maxQueues     = 1000
	maxPriorities = 100
)

// Activities in which a panic is recovered.
const (
	ActivityReconcile = "reconcile"
	ActivityPlan      = "plan"
	ActivityForecast  = "forecast"
)

// Metrics are the collectors of Descriptions.
type Metrics struct {
	PodsCreated, PodsDeleted, statusWrites, SchedulerReports prometheus.Counter

	reconciles prometheus.Observer
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec

	queue, priority *metric.Bounded
	begun           firstSeries
}

// New registers the metrics, or returns those that a former manager of this process registered.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{},
		queue: &metric.Bounded{Max: maxQueues}, priority: &metric.Bounded{Max: maxPriorities},
	}
	for _, d := range Descriptions() {
		if err := m.add(registry, d); err != nil {
			return nil, fmt.Errorf("registering metric %s: %w", d.Name, err)
		}
	}
	m.PodsCreated = m.counters[metricPodsCreated].WithLabelValues()
	m.PodsDeleted = m.counters[metricPodsDeleted].WithLabelValues()
	m.statusWrites = m.counters[metricStatusWrites].WithLabelValues()
	m.SchedulerReports = m.counters[metricSchedulerReports].WithLabelValues()
	m.reconciles = m.histograms[metricReconciles].WithLabelValues()
	m.beginPreemptionSeries()
	for _, activity := range []string{ActivityReconcile, ActivityPlan, ActivityForecast} {
		m.counters[metricPanics].WithLabelValues(activity)
	}
	for _, t := range memory.ErrorTypes { // a rate needs a zero before the first one
		m.counters[metricErrors].WithLabelValues(string(t))
	}
	return m, nil
}

// add registers the collector of a description.
func (m *Metrics) add(registry prometheus.Registerer, d metric.Description) (err error) {
	switch d.Type {
	case metric.Counter:
		m.counters[d.Name], err = register(registry, d.NewCounter())
	case metric.Histogram:
		m.histograms[d.Name], err = register(registry, d.NewHistogram())
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

// CountReconcile observes the duration of one reconcile.
func (m *Metrics) CountReconcile(took time.Duration) { m.reconciles.Observe(took.Seconds()) }

// CountErrors counts an error once for each type of the errors joined in it.
func (m *Metrics) CountErrors(err error) {
	for _, t := range memory.TypesOf(err) {
		m.counters[metricErrors].WithLabelValues(string(t)).Inc()
	}
}

// CountPanic counts a panic that was recovered in an activity.
func (m *Metrics) CountPanic(activity string) {
	m.counters[metricPanics].WithLabelValues(activity).Inc()
}

// CountOverruled counts a plan whose victims were not those that the scheduler ended.
func (m *Metrics) CountOverruled() { m.counters[metricOverruledPlans].WithLabelValues().Inc() }

// CountWake counts an update that wakes a scheduler.
func (m *Metrics) CountWake(scheduler string) {
	m.counters[metricSchedulerWakes].WithLabelValues(scheduler).Inc()
}

// knownReason returns a reason as a label: metric.Other for a reason of a scheduler.
func knownReason(reason string) string {
	if v1alpha1.KnownReason(reason) {
		return reason
	}
	return metric.Other
}
