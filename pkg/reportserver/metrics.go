package reportserver

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the server. None is labelled by a job's name: jobs come and go, series stay.
type metrics struct {
	reports  *prometheus.CounterVec
	handling prometheus.Histogram
	waiting  prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trainingjob_reports_total",
			Help: "Reports of the ranks, by what became of them.",
		}, []string{"result"}),
		handling: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trainingjob_report_duration_seconds",
			Help:    "Time until a report was in the inbox or refused, without the wait for its commit's write.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), // 0.1 ms to 6.5 s
		}),
		waiting: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "trainingjob_report_commit_write_seconds",
			Help:    "Time from a report with a commit until the commit was in the job's status, or was given up waiting for.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 11), // 10 ms to 10 s
		}),
	}
	if err := errors.Join(registry.Register(m.reports), registry.Register(m.handling), registry.Register(m.waiting)); err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	return m, nil
}
