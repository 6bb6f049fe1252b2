package reportserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// TestMetricDescriptions: each registered metric is described as it is gathered, and no other is.
func TestMetricDescriptions(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := newMetrics(registry, newBeats(clock.RealClock{})); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered := map[string]metric.Description{}
	for _, f := range families {
		kind := metric.Type(strings.ToLower(f.GetType().String()))
		d := metric.Description{Name: f.GetName(), Type: kind, Help: f.GetHelp()}
		for _, label := range f.GetMetric()[0].GetLabel() {
			d.Labels = append(d.Labels, label.GetName())
		}
		gathered[d.Name] = d
		want := map[string]int{"trainingjob_reports_total": 15, "trainingjob_beats_total": 13}[d.Name]
		if n := len(f.GetMetric()); d.Labels != nil && n != want {
			t.Errorf("%s has %d results from the start, want %d", d.Name, n, want)
		}
	}
	described := map[string]metric.Description{}
	for _, d := range MetricDescriptions() {
		if d.Cardinality == "" {
			t.Errorf("%s does not say how many series it has", d.Name)
		}
		d.Cardinality, d.Buckets = "", nil
		described[d.Name] = d
	}
	if diff := cmp.Diff(gathered, described); diff != "" {
		t.Errorf("descriptions (-gathered +described):\n%s", diff)
	}
}
