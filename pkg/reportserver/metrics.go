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
	return []metric.Description{
		reportsMetric(), handlingMetric(), commitWriteMetric(), beatsMetric(), beatRanksMetric(),
	}
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

func beatsMetric() metric.Description {
	return metric.Description{
		Name: "trainingjob_beats_total", Type: metric.Counter, Labels: []string{labelResult},
		Cardinality: "13 results",
		Help:        "Beats of ranks, by result: taken, or the refusal reason.",
	}
}

func beatRanksMetric() metric.Description {
	return metric.Description{
		Name: "trainingjob_beat_ranks", Type: metric.Gauge, Cardinality: "1",
		Help: "Ranks whose last beat is in memory, at most 65536.",
	}
}

// metrics of the server. None is labelled by job name: series of deleted jobs would remain.
type metrics struct {
	reports     *prometheus.CounterVec
	handling    prometheus.Observer
	commitWrite prometheus.Observer
	beats       *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer, inMemory *Beats) (*metrics, error) {
	reports, beats := reportsMetric().NewCounter(), beatsMetric().NewCounter()
	handling, commitWrite := handlingMetric().NewHistogram(), commitWriteMetric().NewHistogram()
	ranks := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: beatRanksMetric().Name, Help: beatRanksMetric().Help,
	}, func() float64 { return float64(inMemory.Ranks()) })
	err := errors.Join(registry.Register(reports), registry.Register(handling), registry.Register(commitWrite),
		registry.Register(beats), registry.Register(ranks))
	if err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	for _, result := range results { // rate() needs an initial zero
		reports.WithLabelValues(result)
	}
	for _, result := range beatResults {
		beats.WithLabelValues(result)
	}
	return &metrics{
		reports: reports, handling: handling.WithLabelValues(), commitWrite: commitWrite.WithLabelValues(),
		beats: beats,
	}, nil
}
