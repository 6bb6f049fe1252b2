package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// issuer verifies the tokens of one OpenID Connect issuer.
type issuer struct {
	Issuer
	clock clock.Clock
	// verifier is nil until the discovery document has been read.
	verifier atomic.Pointer[oidc.IDTokenVerifier]
	// endpoints are nil until then, and if the issuer has no login.
	endpoints atomic.Pointer[Endpoints]
}

// follow reads the discovery document, and reads it again from time to time until the context ends. If a
// later read fails, the previous document stays in use.
func (i *issuer) follow(ctx context.Context, log logr.Logger) {
	for delay := firstRetry; ; {
		next := rediscoverAfter
		if err := i.discover(ctx); err == nil {
			delay = firstRetry
			log.V(1).Info("Read the issuer's discovery document")
		} else if ctx.Err() == nil {
			log.Error(err, "The issuer's discovery document cannot be read", "retryAfter", delay.String())
			next, delay = delay, min(2*delay, lastRetry)
		}
		if !passes(ctx, i.clock, next) {
			return
		}
	}
}

// passes waits for d. It returns false if the context ends first.
func passes(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// verify checks a token that names this issuer. It returns its user and expiry.
func (i *issuer) verify(ctx context.Context, raw string) (Identity, time.Time, *Error) {
	remedy := fmt.Sprintf("get a new token from %s for the audience %s", i.URL,
		strings.Join(i.Audiences, " or "))
	token, err := i.check(ctx, raw, i.Audiences, remedy)
	if err != nil {
		return Identity{}, time.Time{}, err
	}
	id, err := i.user(token)
	return id, token.Expiry, err
}

// check checks the signature, the times and the audience of a token.
func (i *issuer) check(
	ctx context.Context, raw string, audiences []string, remedy string,
) (*oidc.IDToken, *Error) {
	verifier := i.verifier.Load()
	if verifier == nil {
		return nil, i.notDiscovered()
	}
	silent := false
	token, err := verifier.Verify(context.WithValue(ctx, keysSilent{}, &silent), raw)
	switch {
	case silent:
		return nil, unavailable("send the request again later", "the issuer %s does not return its keys",
			i.URL)
	case err != nil:
		return nil, rejection(err, remedy)
	case !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(audiences, a) }):
		return nil, rejected(remedy, "the token is not for this server")
	}
	return token, nil
}

// user returns the user of a token that was checked.
func (i *issuer) user(token *oidc.IDToken) (Identity, *Error) {
	id, problem := i.identity(token)
	if problem != "" {
		return Identity{}, rejected("ask an admin of "+i.URL, "%s", problem)
	}
	return id, nil
}

func (i *issuer) notDiscovered() *Error {
	return unavailable("send the request again later", "the issuer %s has not responded to this server yet",
		i.URL)
}

// rejection returns an error without the library's text, which contains parts of the token.
func rejection(err error, remedy string) *Error {
	if expired := (*oidc.TokenExpiredError)(nil); errors.As(err, &expired) {
		return rejected(remedy, "the token expired at %s", expired.Expiry.UTC().Format(time.RFC3339))
	}
	if strings.Contains(err.Error(), "nbf") {
		return rejected("wait until it is valid", "the token is not valid yet")
	}
	return rejected(remedy, "the token is malformed, or not signed by the issuer that it names with one of "+
		"the algorithms that the issuer uses")
}

// keysSilent is the context key under which keySet records that it could not read the issuer's keys.
type keysSilent struct{}

// keySet distinguishes a wrong signature from keys that could not be read.
type keySet struct{ *oidc.RemoteKeySet }

// VerifySignature verifies a signature. The verifier has checked the algorithm before.
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, jwt)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") { // the library exports no error for it
		if silent, ok := ctx.Value(keysSilent{}).(*bool); ok {
			*silent = true
		}
	}
	return payload, err
}
