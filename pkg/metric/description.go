// Package metric answers one question: what is a number of the operator called, and how many series is it?
//
// A Description is the one home of a metric's name, type, labels and help. The collector is made from it, and
// docs/metrics.md is generated from it. The package knows no job and no registry.
package metric

import "github.com/prometheus/client_golang/prometheus"

// Type of a metric, as docs/metrics.md names it.
type Type string

// Types of metrics.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Description documents one metric.
type Description struct {
	Name   string
	Type   Type
	Labels []string
	// Cardinality is how many series there are, in words; "1" for a metric without labels. Of a histogram it is
	// the number of histograms, each of which has len(Buckets)+3 series.
	Cardinality string
	Help        string
	// Buckets of a histogram: upper bounds, ascending.
	Buckets []float64
}

// NewCounter makes the collector of a counter.
func (d Description) NewCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

// NewHistogram makes the collector of a histogram.
func (d Description) NewHistogram() *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.Buckets}
	return prometheus.NewHistogramVec(opts, d.Labels)
}

// Desc is what a collector that reads its values when it is scraped makes its metrics with.
func (d Description) Desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

// ValueType of a counter or a gauge.
func (d Description) ValueType() prometheus.ValueType {
	if d.Type == Counter {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}
