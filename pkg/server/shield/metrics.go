package shield

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// MetricDescriptions returns the metrics of the package.
func MetricDescriptions() []metric.Description {
	return []metric.Description{
		{
			Name: "trainingjob_server_requests_in_flight", Type: metric.Gauge, Cardinality: "1",
			Help: "Requests in progress, without streams.",
		},
		{
			Name: "trainingjob_server_streams", Type: metric.Gauge, Cardinality: "1",
			Help: "Open streams.",
		},
		{
			Name: "trainingjob_server_requests_rejected_total", Type: metric.Counter, Labels: []string{"reason"},
			Cardinality: "9", Help: "Requests rejected or cut off, by exceeded limit.",
		},
		{
			Name: "trainingjob_server_panics_total", Type: metric.Counter, Cardinality: "1",
			Help: "Panics that ended a request; the log has the stack traces.",
		},
	}
}

type metrics struct {
	inFlight, streams prometheus.GaugeFunc
	rejected          *prometheus.CounterVec
	panics            prometheus.Counter
}

func newMetrics(requests, streams func() float64) *metrics {
	d := MetricDescriptions()
	gauge := func(d metric.Description, value func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, value)
	}
	return &metrics{
		inFlight: gauge(d[0], requests), streams: gauge(d[1], streams), rejected: d[2].NewCounter(),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: d[3].Name, Help: d[3].Help}),
	}
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.inFlight, m.streams, m.rejected, m.panics} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering the metrics of shield: %w", err)
		}
	}
	return nil
}
