package mlflow

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Kinds of data that the tracking server rejects: values of the label kind.
const (
	refusedExperiment = "experiment"
	refusedRun        = "run"
	refusedParameter  = "parameter"
	refusedMetric     = "metric"
	refusedTag        = "tag"
)

const (
	nameAway     = "trainingjob_server_mlflow_away"
	namePending  = "trainingjob_server_mlflow_pending_jobs"
	nameLag      = "trainingjob_server_mlflow_lag_seconds"
	nameDelay    = "trainingjob_server_mlflow_delay_seconds"
	nameRequests = "trainingjob_server_mlflow_requests_total"
	nameDuration = "trainingjob_server_mlflow_request_duration_seconds"
	nameFailures = "trainingjob_server_mlflow_job_failures_total"
	nameRefused  = "trainingjob_server_mlflow_refused_total"
)

// MetricDescriptions returns the metrics of an Exporter.
func MetricDescriptions() []metric.Description {
	return []metric.Description{
		{Name: nameAway, Type: metric.Gauge, Cardinality: "1",
			Help: "1 while MLflow or the history is unavailable. Data waits in the history."},
		{Name: namePending, Type: metric.Gauge, Cardinality: "1",
			Help: "Jobs whose runs are not up to date; 0 on a replica that does not send."},
		{Name: nameLag, Type: metric.Gauge, Cardinality: "1",
			Help: "Longest waiting time of these jobs in this process."},
		{Name: nameDelay, Type: metric.Histogram, Cardinality: "1",
			Help:    "Time from a trainer's report until it is sent, for the last report of each batch.",
			Buckets: []float64{1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400}},
		{Name: nameRequests, Type: metric.Counter, Labels: []string{"call", "result"}, Cardinality: "8 × statuses",
			Help: "Requests to MLflow, by call and HTTP status, or error without an answer."},
		{Name: nameDuration, Type: metric.Histogram, Cardinality: "1",
			Help:    "Duration of requests to MLflow.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}},
		{Name: nameFailures, Type: metric.Counter, Cardinality: "1",
			Help: "Failed attempts to send one job. The server retries them."},
		{Name: nameRefused, Type: metric.Counter, Labels: []string{"kind"}, Cardinality: "5",
			Help: "Data that MLflow refuses and the server omits, by kind: parameters, tags, metric values that are " +
				"not numbers, invalid experiment names, and deleted second runs of a job."},
	}
}

// metrics of one exporter.
type metrics struct {
	isAway, jobs, lag *prometheus.GaugeVec
	requests, refused *prometheus.CounterVec
	failures          *prometheus.CounterVec
	delay, duration   *prometheus.HistogramVec
}

func newMetrics() *metrics {
	of := map[string]metric.Description{}
	for _, d := range MetricDescriptions() {
		of[d.Name] = d
	}
	gauge := func(name string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: of[name].Help}, nil)
	}
	m := &metrics{
		isAway: gauge(nameAway), jobs: gauge(namePending), lag: gauge(nameLag),
		requests: of[nameRequests].NewCounter(), refused: of[nameRefused].NewCounter(),
		failures: of[nameFailures].NewCounter(),
		delay:    of[nameDelay].NewHistogram(), duration: of[nameDuration].NewHistogram(),
	}
	for _, call := range calls() {
		m.requests.WithLabelValues(call, "200")
	}
	for _, kind := range []string{
		refusedExperiment, refusedRun, refusedParameter, refusedMetric, refusedTag,
	} {
		m.refused.WithLabelValues(kind)
	}
	m.failures.WithLabelValues()
	m.away(false)
	m.pending(0, 0)
	return m
}

// Register registers the exporter's metrics.
func (e *Exporter) Register(registry prometheus.Registerer) error {
	m := e.metrics
	for _, c := range []prometheus.Collector{
		m.isAway, m.jobs, m.lag, m.requests, m.refused, m.failures, m.delay, m.duration,
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) away(is bool) {
	value := 0.0
	if is {
		value = 1
	}
	m.isAway.WithLabelValues().Set(value)
}

func (m *metrics) pending(jobs int, lag time.Duration) {
	m.jobs.WithLabelValues().Set(float64(jobs))
	m.lag.WithLabelValues().Set(lag.Seconds())
}

func (m *metrics) request(call, result string, took time.Duration) {
	m.requests.WithLabelValues(call, result).Inc()
	m.duration.WithLabelValues().Observe(took.Seconds())
}
func (m *metrics) refuse(kind string, n int) { m.refused.WithLabelValues(kind).Add(float64(n)) }
func (m *metrics) failed()                   { m.failures.WithLabelValues().Inc() }
func (m *metrics) sent(after time.Duration)  { m.delay.WithLabelValues().Observe(after.Seconds()) }
