package shield

import (
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config limits requests. Each replica counts separately.
type Config struct {
	// BodyBytes of a request, from 1024 to 16777216. The API server accepts at most 3 MiB.
	BodyBytes int64 `json:"bodyBytes"`
	// RequestSeconds to send, handle and answer a request, from 1 to 600.
	RequestSeconds int `json:"requestSeconds"`
	// Requests at the same time, from 1 to 100000. The server answers others with 503.
	Requests int `json:"requests"`
	// RequestsPerCaller at the same time, from 1 to 100000. The server answers others with 429.
	RequestsPerCaller int `json:"requestsPerCaller"`
	// Streams, such as those of events, at the same time, from 1 to 100000.
	Streams int `json:"streams"`
	// StreamsPerCaller at the same time, from 1 to 100000.
	StreamsPerCaller int `json:"streamsPerCaller"`
	// StreamSeconds until a stream ends, from 60 to 86400. The client then connects and authenticates again.
	StreamSeconds int `json:"streamSeconds"`
	// AddressRate is requests a second of an IPv4 address or IPv6 /64 network, from 1 to 100000; bursts of
	// four times as many.
	AddressRate int `json:"addressRate"`
	// CallerRate is requests a second of a caller, from 1 to 100000; bursts of four times as many.
	CallerRate int `json:"callerRate"`
	// TrustedOrigins are other sites whose pages can send changes, such as https://portal.example.com, at
	// most 64.
	TrustedOrigins []string `json:"trustedOrigins,omitempty"`
}

// Bounds of the configuration.
const (
	minBodyBytes  = 1 << 10
	maxBodyBytes  = 16 << 20
	maxCount      = 100_000
	maxSeconds    = 600
	minStream     = 60
	maxStream     = 86_400
	maxOrigins    = 64
	burstOfSecond = 4
)

// Default returns the default configuration.
func Default() Config {
	return Config{
		BodyBytes: 2 << 20, RequestSeconds: 30, Requests: 500, RequestsPerCaller: 20, Streams: 500,
		StreamsPerCaller: 10, StreamSeconds: 1800, AddressRate: 100, CallerRate: 25,
	}
}

// Validate returns what is wrong with a configuration, by field below path.
func (c Config) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, number := range []struct {
		key              string
		value, low, high int64
	}{
		{"bodyBytes", c.BodyBytes, minBodyBytes, maxBodyBytes},
		{"requestSeconds", int64(c.RequestSeconds), 1, maxSeconds},
		{"requests", int64(c.Requests), 1, maxCount},
		{"requestsPerCaller", int64(c.RequestsPerCaller), 1, maxCount},
		{"streams", int64(c.Streams), 1, maxCount},
		{"streamsPerCaller", int64(c.StreamsPerCaller), 1, maxCount},
		{"streamSeconds", int64(c.StreamSeconds), minStream, maxStream},
		{"addressRate", int64(c.AddressRate), 1, maxCount},
		{"callerRate", int64(c.CallerRate), 1, maxCount},
	} {
		if number.value < number.low || number.value > number.high {
			errs = append(errs, field.Invalid(path.Child(number.key), number.value,
				fmt.Sprintf("must be from %d to %d", number.low, number.high)))
		}
	}
	at := path.Child("trustedOrigins")
	if len(c.TrustedOrigins) > maxOrigins {
		errs = append(errs, field.TooMany(at, len(c.TrustedOrigins), maxOrigins))
	}
	for n, origin := range c.TrustedOrigins {
		switch err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); {
		case err != nil:
			errs = append(errs, field.Invalid(at.Index(n), origin, "must be <scheme>://<host>[:<port>]"))
		case slices.Contains(c.TrustedOrigins[:n], origin):
			errs = append(errs, field.Duplicate(at.Index(n), origin))
		}
	}
	return errs
}
