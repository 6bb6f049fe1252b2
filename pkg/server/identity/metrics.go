package identity

import (
	"errors"

	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// sourceNone labels requests without credentials.
const sourceNone Source = "none"

// MetricDescriptions returns the metrics of the package.
func MetricDescriptions() []metric.Description {
	return []metric.Description{{
		Name: "trainingjob_server_authentications_total", Type: metric.Counter,
		Labels: []string{"source", "result"}, Cardinality: "at most 4 × 5",
		Help: "Requests, by authentication method and result.",
	}}
}

// resultOf returns the label of an authentication's result.
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
