package recorder

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

func counter(c prometheus.Metric) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// TestMetricsOfTwoClusters: several recorders share a registry, every description has a metric, and none has
// a name that Prometheus would not give.
func TestMetricsOfTwoClusters(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"east", "west"} {
		f := newFixture(t, func(o *Options) { o.Cluster = name })
		if err := f.Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	described := described()
	for _, family := range families {
		d, ok := described[family.GetName()]
		delete(described, family.GetName())
		if n := len(family.GetMetric()); !ok || n < 2 || d.Help != family.GetHelp() {
			t.Errorf("%s: described %t, %d series, %q", family.GetName(), ok, n, family.GetHelp())
		}
	}
	for name := range described {
		t.Errorf("%s is described and not there", name)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
