package reportserver

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

const labelResult = "result"

// MetricDescription documents one metric family; docs/metrics.md is generated from it.
type MetricDescription struct {
	Name string
	// Type is counter, gauge or histogram.
	Type   string
	Labels []string
	Help   string
}

// MetricDescriptions lists the metrics that a Server registers.
func MetricDescriptions() []MetricDescription {
	reports, handling, commitWrite := reportsOpts(), handlingOpts(), commitWriteOpts()
	return []MetricDescription{
		{Name: reports.Name, Type: "counter", Labels: []string{labelResult}, Help: reports.Help},
		{Name: handling.Name, Type: "histogram", Help: handling.Help},
		{Name: commitWrite.Name, Type: "histogram", Help: commitWrite.Help},
	}
}

func reportsOpts() prometheus.CounterOpts {
	return prometheus.CounterOpts{
		Name: "trainingjob_reports_total",
		Help: "Reports of the ranks, by result.",
	}
}

func handlingOpts() prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:    "trainingjob_report_duration_seconds",
		Help:    "Time until a report is stored or rejected, without the wait for the write of its commit.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), // 0.1 ms to 6.5 s
	}
}

func commitWriteOpts() prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:    "trainingjob_report_commit_write_seconds",
		Help:    "Time from a report with a commit until its status write, or until the server stops waiting.",
		Buckets: prometheus.ExponentialBuckets(0.01, 2, 11), // 10 ms to 10 s
	}
}

// metrics of the server. None is labelled by job name: jobs come and go, but a series stays.
type metrics struct {
	reports     *prometheus.CounterVec
	handling    prometheus.Histogram
	commitWrite prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		reports:     prometheus.NewCounterVec(reportsOpts(), []string{labelResult}),
		handling:    prometheus.NewHistogram(handlingOpts()),
		commitWrite: prometheus.NewHistogram(commitWriteOpts()),
	}
	err := errors.Join(registry.Register(m.reports), registry.Register(m.handling),
		registry.Register(m.commitWrite))
	if err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	return m, nil
}
