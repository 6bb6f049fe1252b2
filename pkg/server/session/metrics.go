package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// MetricDescriptions returns the metrics of the package.
func MetricDescriptions() []metric.Description {
	return []metric.Description{
		{
			Name: "trainingjob_server_logins_total", Type: metric.Counter, Labels: []string{"way", "result"},
			Cardinality: "at most 3 × 4",
			Help:        "Completed browser logins, by method and result.",
		},
		{
			Name: "trainingjob_server_session_authentications_total", Type: metric.Counter,
			Labels: []string{"result"}, Cardinality: "at most 4",
			Help: "Requests with a browser session, by result; forged means without its CSRF token.",
		},
		{
			Name: "trainingjob_server_sessions", Type: metric.Gauge, Cardinality: "1",
			Help: "Open browser sessions of all replicas; absent while the database is unavailable.",
		},
	}
}

type metrics struct{ logins, authentications *prometheus.CounterVec }

func newMetrics() *metrics {
	d := MetricDescriptions()
	return &metrics{logins: d[0].NewCounter(), authentications: d[1].NewCounter()}
}

func (s *Sessions) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{s.metrics.logins, s.metrics.authentications, counter{s}} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("registering the metrics of sessions: %w", err)
		}
	}
	return nil
}

// counter counts the sessions at each scrape.
type counter struct{ s *Sessions }

// Describe implements prometheus.Collector.
func (c counter) Describe(to chan<- *prometheus.Desc) { to <- MetricDescriptions()[2].Desc() }

// Collect implements prometheus.Collector.
func (c counter) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	n, err := c.s.store.CountSessions(ctx, c.s.clock.Now())
	if err != nil {
		c.s.log.V(1).Info("Sessions cannot be counted", "reason", err.Error())
		return
	}
	to <- prometheus.MustNewConstMetric(MetricDescriptions()[2].Desc(), prometheus.GaugeValue, float64(n))
}

// resultOf returns the label of a login's or authentication's result.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "accepted"
	case errors.Is(err, identity.ErrForged):
		return "forged"
	case errors.Is(err, identity.ErrTooMany):
		return "limited"
	case errors.Is(err, identity.ErrUnavailable):
		return "unavailable"
	}
	return "rejected"
}
