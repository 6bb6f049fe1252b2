package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Session of a browser.
type Session struct {
	// Identity of the user.
	Identity identity.Identity
	// Expires is when the browser must log in again.
	Expires time.Time

	id   store.SessionID
	csrf string
	// again verifies the session's token again; nil without one.
	again func(context.Context) (identity.Identity, error)
}

// CSRF returns the session's CSRF token, which the forms and scripts of its pages send. Only pages of this
// session can contain it.
func (s *Session) CSRF() string { return s.csrf }

type contextKey struct{}

// FromContext returns the session of the context's request. A request with explicit credentials has none: it
// needs no CSRF token and cannot log out.
func FromContext(ctx context.Context) (*Session, bool) {
	s, ok := ctx.Value(contextKey{}).(*Session)
	return s, ok
}

// NewContext returns a context with a session and its identity.
func NewContext(ctx context.Context, s *Session) context.Context {
	return identity.NewContext(context.WithValue(ctx, contextKey{}, s), s.Identity)
}

const secretBytes = 32

// newSecret returns a random secret of a session.
func newSecret() []byte {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return secret
}
func encodeSecret(secret []byte) string { return base64.RawURLEncoding.EncodeToString(secret) }
func decodeSecret(text string) ([]byte, bool) {
	secret, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return secret, err == nil && len(secret) == secretBytes
}

func idOf(secret []byte) store.SessionID { return sha256.Sum256(secret) }

// stored is the identity of a session in the database.
type stored struct {
	Name    string              `json:"name"`
	UID     string              `json:"uid,omitempty"`
	Groups  []string            `json:"groups,omitempty"`
	Extra   map[string][]string `json:"extra,omitempty"`
	Source  string              `json:"source"`
	Cluster string              `json:"cluster,omitempty"`
	Origin  string              `json:"origin"`
	// Token is the sealed token that made the session, if it can be revoked.
	Token []byte `json:"token,omitempty"`
}

func toStored(v identity.Verified, secret []byte) (json.RawMessage, error) {
	token, err := seal(secret, v.Token)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored{
		Name: v.Name, UID: v.UID, Groups: v.Groups, Extra: v.Extra, Source: string(v.Source), Cluster: v.Cluster,
		Origin: v.Origin, Token: token,
	})
}

func fromStored(data json.RawMessage, secret []byte) (identity.Verified, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return identity.Verified{}, fmt.Errorf("reading a session's identity: %w", err)
	}
	if s.Name == "" || s.Source == "" {
		return identity.Verified{}, errors.New("reading a session's identity: no user name")
	}
	v := identity.Verified{Origin: s.Origin, Identity: identity.Identity{
		Name: s.Name, UID: s.UID, Groups: s.Groups, Extra: s.Extra, Source: identity.Source(s.Source),
		Cluster: s.Cluster,
	}}
	if len(s.Token) == 0 {
		return v, nil
	}
	var err error
	v.Token, err = unseal(secret, s.Token)
	return v, err
}
