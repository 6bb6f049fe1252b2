package session

import (
	"net/http"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// way in which a browser has logged in.
type way string

const (
	wayIssuer way = "oidc"
	wayToken  way = "token"
	wayLink   way = "link"
)

// accept a login: the browser gets a new session, which lasts until the given time at most, and goes on to a
// path. The error is an *identity.Error; nothing is written then.
func (s *Sessions) accept(
	w http.ResponseWriter, r *http.Request, verified identity.Verified, until time.Time, next string,
) error {
	now := s.clock.Now()
	expires := now.Add(time.Duration(s.config.SessionHours) * time.Hour)
	if !until.IsZero() && until.Before(expires) {
		expires = until
	}
	if lasts := expires.Sub(now); lasts < time.Second { // by an API server whose clock is behind
		return identity.Rejected("the token is over", "get a new one and log in again")
	}
	who, err := toStored(verified)
	if err != nil {
		return s.unavailable(r.Context(), err)
	}
	secret := newSecret()
	err = s.store.MakeSession(r.Context(), store.Session{
		ID: idOf(secret), Owner: verified.Caller(), Identity: who, Made: now, Expires: expires,
	}, sessionsOfOne)
	if err != nil {
		return s.unavailable(r.Context(), err)
	}
	// What the browser had before is nobody's now. That it could not be ended is no reason to log nobody in.
	if former, err := s.of(r); err == nil && former != nil {
		_ = s.end(r, former) // which logs it
	}
	s.log.V(1).Info("Logged in", "user", verified.Name, "source", verified.Source, "from", r.RemoteAddr)
	s.cookies.set(w, cookieSession, encodeSecret(secret), expires.Sub(now))
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// finish a login in a way: it is counted, and where it has failed the browser is told why.
func (s *Sessions) finish(w http.ResponseWriter, r *http.Request, by way, err error) {
	s.metrics.logins.WithLabelValues(string(by), resultOf(err)).Inc()
	if err != nil {
		s.log.V(1).Info("Not logged in", "by", by, "from", r.RemoteAddr, "reason", err.Error())
		s.tell(w, r, err)
	}
}

// attempt of a login that costs its address an allowance unless it succeeds. It is used up before anything
// is looked at, for many may come at the same time.
func (s *Sessions) attempt(r *http.Request, do func() error) error {
	from := identity.Address(r)
	if !s.failures.Take(from, s.clock.Now()) {
		return identity.TooMany("too many logins from this address have failed", "wait a minute and log in again")
	}
	err := do()
	if err == nil {
		s.failures.GiveBack(from)
	}
	return err
}
