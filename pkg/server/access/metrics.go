package access

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// MetricDescriptions returns the metrics of the package.
func MetricDescriptions() []metric.Description {
	return []metric.Description{
		{
			Name: "trainingjob_server_acting", Type: metric.Gauge, Labels: []string{"cluster"},
			Cardinality: "clusters",
			Help:        "1 if the server's rights let it act for callers; otherwise /readyz/acting has the reason.",
		},
		{
			Name: "trainingjob_server_access_reviews_total", Type: metric.Counter,
			Labels: []string{"cluster", "result"}, Cardinality: "clusters × 4",
			Help: "Checks of a caller's rights, by result; repeated checks are cached.",
		},
	}
}

type metrics struct {
	acting  *prometheus.GaugeVec
	reviews *prometheus.CounterVec
}

func newMetrics() *metrics {
	d := MetricDescriptions()
	return &metrics{
		acting:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d[0].Name, Help: d[0].Help}, d[0].Labels),
		reviews: d[1].NewCounter(),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.acting, m.reviews} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering the metrics of access: %w", err)
		}
	}
	return nil
}
