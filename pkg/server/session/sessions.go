package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Store keeps the sessions. All replicas of the server share it.
type Store interface {
	MakeSession(ctx context.Context, s store.Session, keep int) error
	Session(ctx context.Context, id store.SessionID, now time.Time) (store.Session, error)
	UseSession(ctx context.Context, id store.SessionID, used time.Time) error
	EndSession(ctx context.Context, id store.SessionID) error
	PruneSessions(ctx context.Context, now time.Time) (int, error)
	CountSessions(ctx context.Context, now time.Time) (int, error)
}

// Options of Sessions. All but Log are required.
type Options struct {
	Config Config
	// Secure: browsers reach the server by TLS. It is false on plain HTTP of a loopback address alone.
	Secure bool
	Store  Store
	// Identity says who somebody is, by explicit credentials and at a login.
	Identity *identity.Authentication
	// Problem answers programs.
	Problem identity.WriteProblem
	Clock   clock.WithTicker
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Sessions let browsers log in, and say whose a browser's requests are. Its methods may be called from
// several goroutines.
type Sessions struct {
	config   Config
	cookies  cookies
	store    Store
	identity *identity.Authentication
	write    identity.WriteProblem
	clock    clock.WithTicker
	log      logr.Logger
	origins  map[string]bool
	link     *link // nil: there is none
	requests requests
	uses     chan use
	failures *allowance.PerKey // by address
	metrics  *metrics
}

// use of a session.
type use struct {
	id store.SessionID
	at time.Time
}

// New registers the metrics, and reads the clients' secrets, so that one that is not there is an error now.
func New(o Options) (*Sessions, error) {
	if errs := o.Config.Validate(nil); len(errs) > 0 {
		return nil, fmt.Errorf("reading the configuration of sessions: %w", errs.ToAggregate())
	}
	s := &Sessions{
		config: o.Config, cookies: cookies{o.Secure}, store: o.Store, identity: o.Identity, write: o.Problem,
		clock: o.Clock, log: o.Log, origins: map[string]bool{}, uses: make(chan use, maxUses),
		failures: allowance.NewPerKey(failedInterval, failedBurst, maxAddresses), metrics: newMetrics(),
	}
	for _, origin := range o.Identity.Origins() {
		s.origins[origin] = true
	}
	for _, issuer := range o.Identity.LoginIssuers() {
		if o.Config.URL == "" {
			return nil, errors.New("an issuer has login: board.url is required, to which it sends browsers back")
		}
		if _, err := readSecret(issuer.Login().ClientSecretFile); err != nil {
			return nil, fmt.Errorf("reading login.clientSecretFile of the issuer %s: %w", issuer.URL(), err)
		}
	}
	if o.Config.OneTimeLink.On() {
		verified, err := identity.FromLink(o.Config.OneTimeLink.User, o.Config.OneTimeLink.Groups)
		if err != nil {
			return nil, fmt.Errorf("reading whom the one-time link logs in: %w", err)
		}
		s.link = &link{verified: verified}
		s.origins[verified.Origin] = true
	}
	return s, s.register(o.Registry)
}

// Start notes which sessions are used, deletes those that are over, and ends their requests, until the
// context ends. Several replicas may do so.
func (s *Sessions) Start(ctx context.Context) error {
	prune, watch := s.clock.NewTicker(pruneEvery), s.clock.NewTicker(watchEvery)
	defer prune.Stop()
	defer watch.Stop()
	s.prune(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-s.uses:
			s.beside(ctx, "The use of a session is not noted", func(ctx context.Context) error {
				return s.store.UseSession(ctx, u.id, u.at)
			})
		case <-prune.C():
			s.prune(ctx)
		case <-watch.C():
			s.watch(ctx)
		}
	}
}

func (s *Sessions) prune(ctx context.Context) {
	s.beside(ctx, "Sessions that are over are deleted later", func(ctx context.Context) error {
		n, err := s.store.PruneSessions(ctx, s.clock.Now())
		if n > 0 {
			s.log.V(1).Info("Deleted sessions that are over", "sessions", n)
		}
		return err
	})
}

// watch ends the requests whose session is over: whoever has logged out sees no stream go on, whichever
// replica serves it.
func (s *Sessions) watch(ctx context.Context) {
	s.beside(ctx, "Whether sessions are over is looked at later", func(ctx context.Context) error {
		for _, id := range s.requests.sessions() {
			_, err := s.store.Session(ctx, id, s.clock.Now())
			switch {
			case errors.Is(err, store.ErrNoSession):
				s.requests.end(id)
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// beside all requests do something, which may fail.
func (s *Sessions) beside(ctx context.Context, failed string, do func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := do(limited); err != nil && ctx.Err() == nil {
		s.log.Error(err, failed)
	}
}

// of a request's cookie. Both are nil where it has none. The error is an *identity.Error.
func (s *Sessions) of(r *http.Request) (*Session, error) {
	value, count := s.cookies.value(r, cookieSession)
	switch {
	case count == 0:
		return nil, nil
	case count > 1:
		return nil, identity.Rejected("the browser sends two sessions of this server",
			"remove the cookies of this site from the browser, and log in again")
	}
	over := identity.Rejected("the session is over", "log in again at "+LoginPath)
	secret, ok := decodeSecret(value)
	if !ok {
		return nil, over
	}
	now := s.clock.Now()
	found, err := s.store.Session(r.Context(), idOf(secret), now)
	switch {
	case errors.Is(err, store.ErrNoSession):
		return nil, over
	case err != nil:
		return nil, s.unavailable(r.Context(), err)
	}
	id, origin, err := fromStored(found.Identity)
	if err != nil {
		return nil, s.unavailable(r.Context(), err)
	}
	if !s.origins[origin] {
		return nil, identity.Rejected("the server's admin has changed who may log in", "log in again at "+LoginPath)
	}
	if now.Sub(found.Used) >= usedAfter {
		select {
		case s.uses <- use{found.ID, now}:
		default: // it will be used again
		}
	}
	return &Session{
		Identity: id, Expires: found.Expires, id: found.ID, csrf: csrfToken(secret),
	}, nil
}

// unavailable is the answer while the sessions cannot be read or written.
func (s *Sessions) unavailable(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		s.log.Error(err, "Sessions cannot be used")
	}
	return identity.Unavailable("the server's database does not answer", "try again later")
}
