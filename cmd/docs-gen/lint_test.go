package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// dictated are names that break a rule of Prometheus because the source documents have them, each with the
// problem that promlint finds. None does so far.
var dictated = map[string]string{}

// TestNamesPassPromlint: of every metric that the page lists, as a registry gathers it.
func TestNamesPassPromlint(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	listed := 0
	for _, section := range append(metricsSections(), serverMetricsSections()...) {
		for _, d := range section.metrics {
			listed++
			registry.MustRegister(sample(d))
			if !strings.HasPrefix(d.Name, "trainingjob_") {
				t.Errorf("%s has not the operator's prefix", d.Name)
			}
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != listed || listed < 40 {
		t.Errorf("%d of %d metrics were gathered", len(families), listed)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if dictated[p.Metric] != p.Text {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		delete(dictated, p.Metric)
	}
	for name := range dictated {
		t.Errorf("%s has no such problem: it is no exception", name)
	}
}

// sample is a collector of a metric with one series.
func sample(d metric.Description) prometheus.Collector {
	labels := make([]string, len(d.Labels))
	switch d.Type {
	case metric.Counter:
		c := d.NewCounter()
		c.WithLabelValues(labels...)
		return c
	case metric.Histogram:
		h := d.NewHistogram()
		h.WithLabelValues(labels...)
		return h
	}
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
	g.WithLabelValues(labels...)
	return g
}
