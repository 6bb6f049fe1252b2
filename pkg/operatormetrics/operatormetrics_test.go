package operatormetrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func gathered(t *testing.T, c Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry() // compares what is collected with what is described
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += fmt.Sprintf("{%s=%s}", l.GetName(), l.GetValue())
			}
			values[name] = m.GetGauge().GetValue()
		}
	}
	return values
}

func TestCollector(t *testing.T) {
	leading := make(chan struct{})
	end := time.Unix(1_800_000_000, 0)
	c := Collector{Version: "v1", Leading: leading, Certificates: map[string]func() time.Time{
		CertificateMetrics: func() time.Time { return end },
		CertificateReports: func() time.Time { return time.Time{} },
	}}
	want := map[string]float64{
		"trainingjob_operator_leading":                                                   0,
		"trainingjob_operator_build_info{version=v1}":                                    1,
		"trainingjob_operator_certificate_expiry_timestamp_seconds{certificate=metrics}": 1_800_000_000,
	}
	if diff := cmp.Diff(want, gathered(t, c)); diff != "" {
		t.Errorf("a replica that stands by (-want +got):\n%s", diff)
	}
	close(leading)
	end = end.Add(time.Hour)
	got := gathered(t, c)
	if got["trainingjob_operator_leading"] != 1 ||
		got["trainingjob_operator_certificate_expiry_timestamp_seconds{certificate=metrics}"] != 1_800_003_600 {
		t.Errorf("it leads, and the certificate was renewed: %v", got)
	}
}
