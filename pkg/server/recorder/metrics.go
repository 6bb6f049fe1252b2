package recorder

import (
	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Data that was dropped before it was written: values of the label what.
const (
	shedVersions = "versions"
	shedDeleted  = "deleted"
)

const (
	namePending           = "trainingjob_server_recorder_pending_jobs"
	nameLag               = "trainingjob_server_recorder_lag_seconds"
	nameSynced            = "trainingjob_server_recorder_synced"
	nameRecords           = "trainingjob_server_recorder_records_total"
	nameFailures          = "trainingjob_server_recorder_failures_total"
	nameDuration          = "trainingjob_server_recorder_write_duration_seconds"
	nameRejected          = "trainingjob_server_recorder_rejected_total"
	nameShed              = "trainingjob_server_recorder_shed_total"
	nameFinalizers        = "trainingjob_server_finalizers_total"
	nameFinalizerFailures = "trainingjob_server_finalizer_failures_total"
	labelCluster          = "cluster"
)

// MetricDescriptions returns the metrics of a recorder.
func MetricDescriptions() []metric.Description {
	of := func(name string, t metric.Type, help, cardinality string, labels ...string) metric.Description {
		return metric.Description{Name: name, Type: t, Help: help, Cardinality: cardinality,
			Labels: append([]string{labelCluster}, labels...)}
	}
	duration := of(nameDuration, metric.Histogram, "Duration of writing a batch to the database.",
		"clusters")
	duration.Buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	return []metric.Description{
		of(nameSynced, metric.Gauge, "1 once the server has listed all jobs since its start "+
			"and found the deleted ones.", "clusters"),
		of(namePending, metric.Gauge, "Jobs with changes that are not in the database yet.", "clusters"),
		of(nameLag, metric.Gauge, "Age of the oldest change that is not in the database yet, or 0.", "clusters"),
		of(nameRecords, metric.Counter, "Written job records. A record can hold several versions.",
			"clusters"),
		of(nameFailures, metric.Counter, "Failed database writes. The server retries them.", "clusters"),
		of(nameRejected, metric.Counter, "Job records that the database rejects although it takes others. The "+
			"server drops them and logs the reason.", "clusters"),
		duration,
		of(nameShed, metric.Counter, "Data that the server dropped to save memory while the database was "+
			"unavailable: versions (older ones of live jobs) and deleted (all but the deletion of a job).",
			"clusters × 2", "what"),
		of(nameFinalizers, metric.Counter, "Finalizers added and removed.", "clusters × 2", "action"),
		of(nameFinalizerFailures, metric.Counter,
			"Failures to add or remove a finalizer. The server retries them.", "clusters"),
	}
}

// metrics of one recorder; the registry adds the cluster.
type metrics struct {
	records, failures, rejected, finalizerFailures prometheus.Counter
	duration                                       prometheus.Histogram
	dropped, finalizers                            *prometheus.CounterVec
}

func newMetrics() *metrics {
	d := described()
	counter := func(name string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: d[name].Help})
	}
	vector := func(name, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: d[name].Help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v)
		}
		return c
	}
	return &metrics{
		records: counter(nameRecords), failures: counter(nameFailures), rejected: counter(nameRejected),
		finalizerFailures: counter(nameFinalizerFailures),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: nameDuration, Help: d[nameDuration].Help, Buckets: d[nameDuration].Buckets,
		}),
		dropped:    vector(nameShed, "what", shedVersions, shedDeleted),
		finalizers: vector(nameFinalizers, "action", string(add), string(remove)),
	}
}

func described() map[string]metric.Description {
	all := map[string]metric.Description{}
	for _, d := range MetricDescriptions() {
		all[d.Name] = d
	}
	return all
}

func (m *metrics) shed(what string) { m.dropped.WithLabelValues(what).Inc() }

// Register registers the recorder's metrics with its cluster's name.
func (r *Recorder) Register(registry prometheus.Registerer) error {
	registry = prometheus.WrapRegistererWith(prometheus.Labels{labelCluster: r.Cluster}, registry)
	m, d := r.metrics, described()
	gauge := func(name string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: d[name].Help}, value)
	}
	for _, c := range []prometheus.Collector{
		m.records, m.failures, m.rejected, m.finalizerFailures, m.duration, m.dropped, m.finalizers,
		gauge(namePending, func() float64 { return float64(r.pending.len()) }),
		gauge(nameLag, r.lag),
		gauge(nameSynced, func() float64 {
			if r.Synced() {
				return 1
			}
			return 0
		}),
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) lag() float64 {
	oldest := r.pending.oldest()
	if oldest.IsZero() {
		return 0
	}
	return r.Clock.Since(oldest).Seconds()
}
