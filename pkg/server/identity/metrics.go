package identity

import (
	"errors"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// sourceNone labels requests that do not say in which way they are authenticated.
const sourceNone Source = "none"

// MetricDescriptions of the package, in the order of reading.
func MetricDescriptions() []metric.Description {
	return []metric.Description{{
		Name: "trainingjob_server_authentications_total", Type: metric.Counter,
		Labels: []string{"source", "result"}, Cardinality: "at most 4 × 5",
		Help: "Requests, by authentication method and result.",
	}}
}

// resultOf an authentication, for the metrics.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "accepted"
	case errors.Is(err, ErrNone):
		return "none"
	case errors.Is(err, ErrTooMany):
		return "limited"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	}
	return "rejected"
}
