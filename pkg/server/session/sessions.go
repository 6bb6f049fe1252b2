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

// Store of the sessions. All replicas of the server share it.
type Store interface {
	MakeSession(ctx context.Context, s store.Session, keep int) error
	Session(ctx context.Context, id store.SessionID, now time.Time) (store.Session, error)
	UseSession(ctx context.Context, id store.SessionID, used time.Time) error
	EndSession(ctx context.Context, id store.SessionID) error
	PruneSessions(ctx context.Context, now time.Time) (int, error)
	CountSessions(ctx context.Context, now time.Time) (int, error)
}

// Options of Sessions. All except Log are required.
type Options struct {
	Config Config
	// Secure: browsers reach the server by TLS. False only for plain HTTP on a loopback address.
	Secure bool
	Store  Store
	// Identity verifies explicit credentials and logins.
	Identity *identity.Authentication
	// Problem writes errors for programs.
	Problem identity.WriteProblem
	Clock   clock.WithTicker
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Sessions log browsers in and authenticate their requests. Its methods are safe for concurrent use.
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
	redeemed *allowance.PerKey // by state of the login
	metrics  *metrics
}

// use of a session, for the store.
type use struct {
	id store.SessionID
	at time.Time
}

// New registers the metrics and reads the clients' secrets, so that a missing one is an error at startup.
func New(o Options) (*Sessions, error) {
	if errs := o.Config.Validate(nil); len(errs) > 0 {
		return nil, fmt.Errorf("reading the configuration of sessions: %w", errs.ToAggregate())
	}
	s := &Sessions{
		config: o.Config, cookies: cookies{o.Secure}, store: o.Store, identity: o.Identity, write: o.Problem,
		clock: o.Clock, log: o.Log, origins: map[string]bool{}, uses: make(chan use, maxUses),
		redeemed: allowance.NewPerKey(loginLasts, 1, maxRedeemed), metrics: newMetrics(),
	}
	for _, origin := range o.Identity.Origins() {
		s.origins[origin] = true
	}
	for _, issuer := range o.Identity.LoginIssuers() {
		if o.Config.URL == "" {
			return nil, errors.New("login of an issuer requires board.url, to which it redirects browsers")
		}
		if _, err := readSecret(issuer.Login().ClientSecretFile); err != nil {
			return nil, fmt.Errorf("reading login.clientSecretFile of the issuer %s: %w", issuer.URL(), err)
		}
	}
	if o.Config.OneTimeLink.On() {
		verified, err := identity.FromLink(o.Config.OneTimeLink.User, o.Config.OneTimeLink.Groups)
		if err != nil {
			return nil, fmt.Errorf("reading the user of the one-time link: %w", err)
		}
		s.link = &link{verified: verified}
		s.origins[verified.Origin] = true
	}
	return s, s.register(o.Registry)
}

// Start records the use of sessions, deletes expired sessions and ends their requests, until the context
// ends. Several replicas can do this.
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
			s.background(ctx, "The use of a session cannot be recorded", func(ctx context.Context) error {
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
	s.background(ctx, "Expired sessions cannot be deleted", func(ctx context.Context) error {
		n, err := s.store.PruneSessions(ctx, s.clock.Now())
		if n > 0 {
			s.log.V(1).Info("Deleted expired sessions", "sessions", n)
		}
		return err
	})
}

// watch ends the requests of ended sessions: after a logout, or when a token was revoked, the streams end on
// every replica.
func (s *Sessions) watch(ctx context.Context) {
	s.background(ctx, "Sessions cannot be checked", func(ctx context.Context) error {
		var errs []error
		for _, session := range s.requests.sessions() {
			_, err := s.store.Session(ctx, session.id, s.clock.Now())
			if err == nil && session.again != nil {
				_, err = session.again(ctx)
			}
			if errors.Is(err, store.ErrNoSession) || errors.Is(err, identity.ErrRejected) {
				s.requests.end(session.id)
			} else {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	})
}

// background runs a function outside of requests, and logs its error.
func (s *Sessions) background(ctx context.Context, failed string, do func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := do(limited); err != nil && ctx.Err() == nil {
		s.log.Error(err, failed)
	}
}

// of returns the session of a request's cookie; nil without one. The error is an *identity.Error.
func (s *Sessions) of(r *http.Request) (*Session, error) {
	value, count := s.cookies.value(r, cookieSession)
	switch {
	case count == 0:
		return nil, nil
	case count > 1:
		return nil, identity.Rejected("the browser sends two session cookies",
			"remove the cookies of this site from the browser, and log in again")
	}
	over := identity.Rejected("the session has ended", "log in again at "+LoginPath)
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
	verified, err := fromStored(found.Identity, secret)
	if err != nil {
		return nil, s.unavailable(r.Context(), err)
	}
	if !s.origins[verified.Origin] {
		return nil, identity.Rejected("the server's admin has changed who may log in", "log in again at "+LoginPath)
	}
	session := &Session{
		Identity: verified.Identity, Expires: found.Expires, id: found.ID, csrf: csrfToken(secret),
	}
	if verified.Source == identity.SourceTokenReview {
		session.again = s.reviewed(found.ID, verified)
		if session.Identity, err = session.again(r.Context()); err != nil {
			return nil, err
		}
	}
	if now.Sub(found.Used) >= usedAfter {
		select {
		case s.uses <- use{found.ID, now}:
		default: // recorded at the next use
		}
	}
	return session, nil
}

// reviewed returns a function that has the cluster review the token of a session again, and ends the session
// if the cluster rejects it. The function returns the user; the error is an *identity.Error.
func (s *Sessions) reviewed(
	id store.SessionID, verified identity.Verified,
) func(context.Context) (identity.Identity, error) {
	return func(ctx context.Context) (identity.Identity, error) {
		user, err := s.identity.VerifyAgain(ctx, verified.Token)
		if err == nil && user.Name == verified.Name {
			return user, nil
		}
		if err != nil && !errors.Is(err, identity.ErrRejected) {
			return identity.Identity{}, err
		}
		if err := s.store.EndSession(ctx, id); err != nil && ctx.Err() == nil {
			s.log.Error(err, "A session whose token is rejected cannot be deleted")
		}
		return identity.Identity{}, identity.Rejected("the cluster no longer accepts the token of this session",
			"get a new token and log in again at "+LoginPath)
	}
}

// unavailable returns the error for a failing store.
func (s *Sessions) unavailable(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		s.log.Error(err, "Accessing the sessions failed")
	}
	return identity.Unavailable("the server's database does not respond", "try again later")
}
