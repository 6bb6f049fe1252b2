package reportserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricDescriptions: each registered metric is described as it is gathered, and no other is.
func TestMetricDescriptions(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.reports.WithLabelValues(resultTaken).Inc() // a vector without series is not gathered
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered := map[string]MetricDescription{}
	for _, f := range families {
		d := MetricDescription{Name: f.GetName(), Type: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
		for _, label := range f.GetMetric()[0].GetLabel() {
			d.Labels = append(d.Labels, label.GetName())
		}
		gathered[d.Name] = d
	}
	described := map[string]MetricDescription{}
	for _, d := range MetricDescriptions() {
		described[d.Name] = d
	}
	if diff := cmp.Diff(gathered, described); diff != "" {
		t.Errorf("descriptions (-gathered +described):\n%s", diff)
	}
}
