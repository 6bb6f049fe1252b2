package reportserver

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

const labelResult = "result"

// MetricDescriptions lists the metrics that a Server registers.
func MetricDescriptions() []metric.Description {
	return []metric.Description{reportsMetric(), handlingMetric(), commitWriteMetric()}
}

func reportsMetric() metric.Description {
	return metric.Description{
		Name: "trainingjob_reports_total", Type: metric.Counter, Labels: []string{labelResult},
		Cardinality: "15 results",
		Help:        "Reports of ranks, by result: taken, unwritten (the rank retries), or the refusal reason.",
	}
}

func handlingMetric() metric.Description {
	return metric.Description{
		Name: "trainingjob_report_duration_seconds", Type: metric.Histogram, Cardinality: "1",
		Help:    "Time until a report is stored or rejected, without the wait for its commit to be written.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), // 0.1 ms to 6.5 s
	}
}

func commitWriteMetric() metric.Description {
	return metric.Description{
		Name: "trainingjob_report_commit_write_seconds", Type: metric.Histogram, Cardinality: "1",
		Help:    "Time from a report with a commit until its status write, or until the server stops waiting.",
		Buckets: prometheus.ExponentialBuckets(0.01, 2, 11), // 10 ms to 10 s
	}
}

// metrics of the server. None is labelled by job name: series of deleted jobs would remain.
type metrics struct {
	reports     *prometheus.CounterVec
	handling    prometheus.Observer
	commitWrite prometheus.Observer
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	reports := reportsMetric().NewCounter()
	handling, commitWrite := handlingMetric().NewHistogram(), commitWriteMetric().NewHistogram()
	err := errors.Join(registry.Register(reports), registry.Register(handling), registry.Register(commitWrite))
	if err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	for _, result := range results { // rate() needs an initial zero
		reports.WithLabelValues(result)
	}
	return &metrics{
		reports: reports, handling: handling.WithLabelValues(), commitWrite: commitWrite.WithLabelValues(),
	}, nil
}
