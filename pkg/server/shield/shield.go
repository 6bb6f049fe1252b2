package shield

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Limits that are not configurable.
const (
	// maxHeaderBytes fits a token with hundreds of groups twice.
	maxHeaderBytes = 64 << 10
	maxURLBytes    = 8 << 10
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	// writeGrace is the time to write the response after a timeout.
	writeGrace = 5 * time.Second
	// openRequests is the number of concurrent requests on open paths, in all and of one address. A proxy or
	// load balancer is one address.
	openRequests, openRequestsPerAddress = 128, 64
	// openRead is the time to send a request on an open path, and openLimit the time to handle it: a login
	// can wait for its issuer.
	openRead, openLimit = 5 * time.Second, 15 * time.Second
	// streamWrite is the time in which a client must receive a write of a stream.
	streamWrite = 30 * time.Second
)

// Options of a Shield. All except Log are required.
type Options struct {
	Config Config
	// Problem writes the response of a rejection.
	Problem WriteProblem
	// Address of the client.
	Address func(*http.Request) string
	// Caller of a request behind the authentication.
	Caller func(*http.Request) string
	Clock  clock.WithDelayedExecution
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Shield limits requests. Its methods are safe for concurrent use.
type Shield struct {
	config    Config
	write     WriteProblem
	address   func(*http.Request) string
	caller    func(*http.Request) string
	clock     clock.WithDelayedExecution
	log       logr.Logger
	addresses *rates
	callers   *rates
	requests  *counts // without keys; perCaller counts each caller's
	open      *counts // on open paths, by address
	perCaller *counts
	streams   *counts
	decoding  decoding
	origins   *http.CrossOriginProtection
	metrics   *metrics
}

// New registers the metrics.
func New(o Options) (*Shield, error) {
	if errs := o.Config.Validate(nil); len(errs) > 0 {
		return nil, fmt.Errorf("reading the configuration of limits: %w", errs.ToAggregate())
	}
	c := o.Config
	s := &Shield{
		config: c, write: o.Problem, address: o.Address, caller: o.Caller, clock: o.Clock, log: o.Log,
		addresses: newRates(c.AddressRate), callers: newRates(c.CallerRate),
		requests:  newCounts(c.Requests, c.Requests),
		open:      newCounts(openRequests, openRequestsPerAddress),
		perCaller: newCounts(math.MaxInt, c.RequestsPerCaller),
		streams:   newCounts(c.Streams, c.StreamsPerCaller),
		decoding:  newDecoding(),
		origins:   http.NewCrossOriginProtection(),
	}
	var errs []error
	for _, origin := range c.TrustedOrigins {
		errs = append(errs, s.origins.AddTrustedOrigin(origin))
	}
	s.metrics = newMetrics(s.requests.now, s.streams.now)
	return s, errors.Join(append(errs, s.metrics.register(o.Registry))...)
}

// Limit sets the limits that apply before a handler is called.
func (s *Shield) Limit(server *http.Server) {
	server.MaxHeaderBytes = maxHeaderBytes
	server.ReadHeaderTimeout = headerTimeout
	server.IdleTimeout = idleTimeout
}

// Handler limits requests of any client.
func (s *Shield) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setStrict(w.Header(), r.TLS != nil)
		answer := &answer{ResponseWriter: w, clock: s.clock, body: newBody(r)}
		defer s.recover(answer, r)
		if err := s.admit(r); err != nil {
			s.reject(answer, r, err)
			return
		}
		if together, _ := s.requests.enter(""); !together {
			s.reject(answer, r, &Error{
				Status: http.StatusServiceUnavailable, RetryAfter: time.Second, reason: reasonBusy,
				Detail: fmt.Sprintf("the server is already handling %d requests", s.config.Requests),
				Remedy: "send the request again",
			})
			return
		}
		q := &request{shield: s, answer: answer, leave: []func(){func() { s.requests.leave("") }}}
		defer q.end()
		answer.body.ReadCloser = http.MaxBytesReader(w, r.Body, s.config.BodyBytes)
		r.Body = answer.body
		ctx := q.begin(r.Context())
		next.ServeHTTP(answer, r.WithContext(ctx))
		if !answer.begun && late(ctx) {
			s.reject(answer, r, &Error{
				Status: http.StatusGatewayTimeout, reason: reasonDeadline,
				Detail: fmt.Sprintf("the request took more than %d seconds", s.config.RequestSeconds),
				Remedy: "request less at a time, or try again later",
			})
		}
	})
}

// admit checks a request by its head, before it is counted.
func (s *Shield) admit(r *http.Request) *Error {
	if !s.addresses.take(s.address(r), s.clock.Now()) {
		return tooMany(reasonAddress, "send fewer requests",
			"more than %d requests a second come from this address", s.config.AddressRate)
	}
	bytes := 0
	for key, values := range r.Header {
		for _, value := range values {
			bytes += len(key) + len(value)
		}
	}
	switch {
	case len(r.URL.String()) > maxURLBytes:
		return tooLarge(http.StatusRequestURITooLong, "request less at a time", "the URL has more than %d bytes",
			maxURLBytes)
	case bytes > maxHeaderBytes:
		return tooLarge(http.StatusRequestHeaderFieldsTooLarge, "send fewer headers",
			"the headers have more than %d bytes", maxHeaderBytes)
	case r.ContentLength > s.config.BodyBytes:
		return tooLarge(http.StatusRequestEntityTooLarge, "send less at a time", "the body has more than %d bytes",
			s.config.BodyBytes)
	case s.origins.Check(r) != nil:
		return &Error{
			Status: http.StatusForbidden, reason: reasonOrigin,
			Detail: "a page of another site requests a change",
			Remedy: "send the request from this server's own pages or from a program, or ask the server's admin to " +
				"add the site to limits.trustedOrigins",
		}
	}
	return nil
}

// Open handles requests on paths that need no caller. They have their own pool, so that stalled anonymous
// clients do not block requests of known callers.
func (s *Shield) Open(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := s.address(r)
		together, ofAddress := s.open.enter(address)
		switch {
		case !ofAddress:
			s.reject(w, r, tooMany(reasonOpen, "wait for the answers, and send the request again",
				"this address already has %d requests without a login in progress", openRequestsPerAddress))
			return
		case !together:
			s.reject(w, r, &Error{
				Status: http.StatusServiceUnavailable, RetryAfter: time.Second, reason: reasonOpen,
				Detail: fmt.Sprintf("the server is already handling %d requests without a login",
					openRequests),
				Remedy: "send the request again",
			})
			return
		}
		leave := func() { s.open.leave(address) }
		q, ok := r.Context().Value(requestKey{}).(*request)
		if !ok { // outside of Handler it has no time limit
			defer leave()
		} else {
			q.toOpen(leave)
		}
		next.ServeHTTP(w, r)
	})
}

// PerCaller limits the requests of each caller.
func (s *Shield) PerCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := s.caller(r)
		if !s.callers.take(caller, s.clock.Now()) {
			s.reject(w, r, tooMany(reasonCaller, "send fewer requests",
				"you send more than %d requests a second", s.config.CallerRate))
			return
		}
		if _, ofCaller := s.perCaller.enter(caller); !ofCaller {
			s.reject(w, r, tooMany(reasonMany, "wait for the answers",
				"%d of your requests are already in progress", s.config.RequestsPerCaller))
			return
		}
		q, ok := r.Context().Value(requestKey{}).(*request)
		if !ok { // outside of Handler
			defer s.perCaller.leave(caller)
			next.ServeHTTP(w, r)
			return
		}
		q.of(caller)
		next.ServeHTTP(w, r)
	})
}
