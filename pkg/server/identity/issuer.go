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
	// verifier is nil until the discovery document was read.
	verifier atomic.Pointer[oidc.IDTokenVerifier]
	// endpoints are nil until then, and where nobody can log in.
	endpoints atomic.Pointer[Endpoints]
}

// follow reads the discovery document until it is there, and then anew from time to time, until the context
// ends. Where it cannot be read again, what was read before holds.
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

// passes waits for a time, and reports whether that passed before the context ended.
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

// verify a token that names this issuer, and return its end.
func (i *issuer) verify(ctx context.Context, raw string) (Identity, time.Time, *Error) {
	token, err := i.check(ctx, raw, i.Audiences, fmt.Sprintf("get a new token from %s for the audience %s", i.URL,
		strings.Join(i.Audiences, " or ")))
	if err != nil {
		return Identity{}, time.Time{}, err
	}
	id, err := i.user(token)
	return id, token.Expiry, err
}

// check the signature and the times of a token, and that it is for one of the audiences.
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
		return nil, unavailable("send the request again later", "the issuer %s does not tell its keys",
			i.URL)
	case err != nil:
		return nil, rejection(err, remedy)
	case !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(audiences, a) }):
		return nil, rejected(remedy, "the token is not for this server")
	}
	return token, nil
}

// user of a token that was checked.
func (i *issuer) user(token *oidc.IDToken) (Identity, *Error) {
	id, problem := i.identity(token)
	if problem != "" {
		return Identity{}, rejected("ask an admin of "+i.URL, "%s", problem)
	}
	return id, nil
}

func (i *issuer) notDiscovered() *Error {
	return unavailable("send the request again later", "the issuer %s has not answered this server yet", i.URL)
}

// rejection tells the caller in our own words: the library's errors have parts of the token.
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

// keysSilent is the key of the context's value in which keySet says that the issuer did not tell its keys.
type keysSilent struct{}

// keySet tells a signature that is wrong from keys that could not be read.
type keySet struct{ *oidc.RemoteKeySet }

// VerifySignature is called by the verifier alone, which has checked the algorithm before.
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, jwt)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys") { // the library has no value for it
		if silent, ok := ctx.Value(keysSilent{}).(*bool); ok {
			*silent = true
		}
	}
	return payload, err
}
