package session

import (
	"net/http"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// way is the method of a browser login.
type way string

const (
	wayIssuer way = "oidc"
	wayToken  way = "token"
	wayLink   way = "link"
)

// accept completes a login: the browser gets a new session, which lasts until expires at most, and is
// redirected to a path. The error is an *identity.Error; then nothing has been written.
func (s *Sessions) accept(
	w http.ResponseWriter, r *http.Request, verified identity.Verified, until time.Time, next string,
) error {
	now := s.clock.Now()
	expires := now.Add(time.Duration(s.config.SessionHours) * time.Hour)
	if !until.IsZero() && until.Before(expires) {
		expires = until
	}
	if lasts := expires.Sub(now); lasts < time.Second { // the API server's clock is behind
		return identity.Rejected("the token has expired", "get a new one and log in again")
	}
	secret := newSecret()
	who, err := toStored(verified, secret)
	if err != nil {
		return s.unavailable(r.Context(), err)
	}
	err = s.store.MakeSession(r.Context(), store.Session{
		ID: idOf(secret), Owner: verified.Caller(), Identity: who, Made: now, Expires: expires,
	}, sessionsOfOne)
	if err != nil {
		return s.unavailable(r.Context(), err)
	}
	// A login replaces the previous session of the browser. If that cannot be ended, the login still
	// succeeds.
	if former, err := s.of(r); err == nil && former != nil {
		_ = s.end(r, former) // end logs it
	}
	s.log.V(1).Info("Logged in", "user", verified.Name, "source", verified.Source, "from", r.RemoteAddr)
	s.cookies.set(w, cookieSession, encodeSecret(secret), expires.Sub(now))
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// finish counts a login, and shows the error of one that failed.
func (s *Sessions) finish(w http.ResponseWriter, r *http.Request, by way, err error) {
	s.metrics.logins.WithLabelValues(string(by), resultOf(err)).Inc()
	if err != nil {
		s.log.V(1).Info("Not logged in", "by", by, "from", r.RemoteAddr, "reason", err.Error())
		s.tell(w, r, err)
	}
}
