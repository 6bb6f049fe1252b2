package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/utils/clock"
)

// Options of an Authentication.
type Options struct {
	Config Config
	// Reviews of the cluster ReviewCluster; required if token reviews are enabled.
	Reviews       authenticationclient.TokenReviewInterface
	ReviewCluster string
	// ReadReviewCluster reads a path of its API server, which has the keys of its tokens. Without it, all of
	// them count against the allowance of the address until they are accepted.
	ReadReviewCluster func(ctx context.Context, path string) ([]byte, error)
	Clock             clock.Clock
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Authentication authenticates requests. Its methods are safe for concurrent use.
type Authentication struct {
	log     logr.Logger
	clock   clock.Clock
	issuers map[string]*issuer // by URL
	logins  []*LoginIssuer
	review  string // the Origin of token reviews; empty if they are disabled
	proxies *proxies
	tokens  *tokens
	results *prometheus.CounterVec
}

// New reads the CAs of the proxies and registers the metrics. Start contacts the issuers; until one has
// responded, its tokens are rejected with ErrUnavailable.
func New(o Options) (*Authentication, error) {
	if errs := o.Config.Validate(nil); len(errs) > 0 {
		return nil, fmt.Errorf("reading the configuration of identity: %w", errs.ToAggregate())
	}
	a := &Authentication{log: o.Log, clock: o.Clock, issuers: map[string]*issuer{}}
	for _, c := range o.Config.OIDC {
		i := &issuer{Issuer: c, clock: o.Clock}
		a.issuers[c.URL] = i
		if c.Login.On() {
			a.logins = append(a.logins, &LoginIssuer{i})
		}
	}
	var reviewer *tokenReviewer
	if review := o.Config.TokenReview; review.Enabled {
		if o.Reviews == nil || o.ReviewCluster == "" {
			return nil, errors.New("token reviews are enabled: Reviews and ReviewCluster are required")
		}
		a.review = reviewOrigin(o.ReviewCluster, review.Audiences)
		reviewer = newTokenReviewer(o)
	}
	a.tokens = newTokens(a.issuers, reviewer, o.Clock)
	if o.Config.Proxies.On() {
		var err error
		if a.proxies, err = newProxies(o.Config.Proxies, o.Clock); err != nil {
			return nil, err
		}
	}
	a.results = MetricDescriptions()[0].NewCounter()
	if err := o.Registry.Register(a.results); err != nil {
		return nil, fmt.Errorf("registering the metrics of identity: %w", err)
	}
	return a, nil
}

// Start reads the issuers' discovery documents and the cluster's keys, and follows changes of these and of
// the CAs, until the context ends.
func (a *Authentication) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for _, i := range a.issuers {
		running.Go(func() { i.follow(ctx, a.log.WithValues("issuer", i.URL)) })
	}
	if a.proxies != nil {
		running.Go(func() { a.proxies.follow(ctx, a.log) })
	}
	if reviewer := a.tokens.reviewer; reviewer != nil {
		running.Go(func() { reviewer.keys.follow(ctx, a.log.WithValues("cluster", reviewer.cluster)) })
	}
	running.Wait()
	return nil
}

// NeedLeaderElection returns false: every replica authenticates.
func (a *Authentication) NeedLeaderElection() bool { return false }

// Authenticate returns the caller. Its error is an *Error.
func (a *Authentication) Authenticate(r *http.Request) (Identity, error) {
	id, source, err := a.authenticate(r)
	a.results.WithLabelValues(string(source), resultOf(err)).Inc()
	if err != nil {
		if !errors.Is(err, ErrNone) {
			a.log.V(1).Info("Not authenticated", "from", r.RemoteAddr, "source", source, "reason", err.Error())
		}
		return Identity{}, err
	}
	return id, nil
}

// authenticate returns the source "none" if the request has no credentials, and that of the token's issuer if
// it is known. Its error is nil or an *Error.
func (a *Authentication) authenticate(r *http.Request) (Identity, Source, error) {
	users, groups := r.Header.Values(headerUser), r.Header.Values(headerGroups)
	authorization := r.Header.Values("Authorization")
	if len(users)+len(groups) > 0 {
		if len(authorization) > 0 {
			return Identity{}, SourceProxy, rejected("send one of them", "the headers Authorization and %s or %s "+
				"both have credentials", headerUser, headerGroups)
		}
		id, err := a.proxies.identity(r, users, groups)
		return id, SourceProxy, asError(err)
	}
	if len(authorization) == 0 {
		return Identity{}, sourceNone, &Error{
			kind: ErrNone, Detail: "the request has no credentials",
			Remedy: `send the header "Authorization: Bearer <token>"`,
		}
	}
	token, err := bearerToken(authorization)
	if err != nil {
		return Identity{}, sourceNone, err
	}
	return a.tokens.identity(r.Context(), token, Address(r))
}

// asError converts a nil *Error to a nil error.
func asError(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}
