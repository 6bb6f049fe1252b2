package meter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// The descriptions are what a generator of documentation sees, without an operator.
func TestMetricDescriptionsAreWhatIsRegistered(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, d := range Descriptions() {
		if d.Help == "" || d.Cardinality == "" || described[d.Name] {
			t.Errorf("%s has no help or no cardinality, or is described twice", d.Name)
		}
		described[d.Name] = true
		labels := make([]string, len(d.Labels))
		if c := m.counters[d.Name]; c != nil {
			c.WithLabelValues(labels...)
		}
		if h := m.histograms[d.Name]; h != nil {
			h.WithLabelValues(labels...)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	registered := map[string]bool{}
	for _, f := range families {
		registered[f.GetName()] = true
	}
	if diff := cmp.Diff(described, registered); diff != "" {
		t.Errorf("(-described +registered):\n%s", diff)
	}
	if _, err := New(registry); err != nil {
		t.Errorf("a second manager of this process shares the metrics: %v", err)
	}
}
