package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
)

// verdict on a token: its user, or why it is rejected.
type verdict struct {
	id       Identity
	source   Source
	rejected *Error
}

// tokens verifies bearer tokens, and caches the results by the token's SHA-256.
type tokens struct {
	clock     clock.Clock
	issuers   map[string]*issuer
	reviewer  *tokenReviewer // nil if token reviews are disabled
	accepted  *cache.LRUExpireCache
	rejected  *cache.LRUExpireCache
	addresses *allowance.PerKey
}

func newTokens(issuers map[string]*issuer, reviewer *tokenReviewer, c clock.Clock) *tokens {
	return &tokens{
		clock: c, issuers: issuers, reviewer: reviewer,
		accepted:  cache.NewLRUExpireCacheWithClock(maxAccepted, c),
		rejected:  cache.NewLRUExpireCacheWithClock(maxRejected, c),
		addresses: allowance.NewPerKey(rejectedInterval, rejectedBurst, maxAddresses),
	}
}

// bearerToken returns the token of the Authorization header.
func bearerToken(values []string) (string, error) {
	const remedy = `send one header "Authorization: Bearer <token>"`
	if len(values) != 1 {
		return "", rejected(remedy, "the request has %d Authorization headers", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", rejected(remedy, "the Authorization header must use the scheme Bearer")
	case len(token) > maxTokenBytes:
		return "", rejected("send a token with fewer claims", "the token has more than %d bytes", maxTokenBytes)
	case token == "" || strings.ContainsFunc(token, unprintable):
		return "", rejected(remedy, "the Authorization header has no token, or more than one")
	}
	return token, nil
}

// identity returns the user of a token that an address has sent.
func (t *tokens) identity(ctx context.Context, token, from string) (Identity, Source, error) {
	key := sha256.Sum256([]byte(token))
	v, known := t.known(key)
	if !known {
		v = t.judge(ctx, token, key, from)
	}
	return v.id, v.source, asError(v.rejected)
}

// known returns the verdict on a token that was verified just now.
func (t *tokens) known(key [sha256.Size]byte) (verdict, bool) {
	for _, known := range []*cache.LRUExpireCache{t.accepted, t.rejected} {
		if found, ok := known.Get(key); ok {
			return found.(verdict), true
		}
	}
	return verdict{}, false
}

// judge verifies a token with its issuer, if that is configured, else with the API server. It does not retry
// with the other. An issuer's token uses up no allowance: its signature is verified here.
func (t *tokens) judge(ctx context.Context, token string, key [sha256.Size]byte, from string) verdict {
	if i, ok := t.issuers[issuerOf(token)]; ok {
		id, end, err := i.verify(ctx, token)
		v := verdict{id: id, source: SourceOIDC, rejected: err}
		if err == nil {
			t.accepted.Add(key, v, min(acceptedFor, end.Sub(t.clock.Now())))
		}
		return v
	}
	if t.reviewer == nil {
		return verdict{source: sourceNone, rejected: rejected("send a token of an issuer that the server's admin "+
			"has configured", "the token's issuer is not configured")}
	}
	if t.reviewer.signed(ctx, token) {
		return t.review(ctx, token, key)
	}
	// Count the token as rejected until it is accepted: requests run concurrently, and clients that hang up
	// cause the same work.
	if !t.addresses.Take(from, t.clock.Now()) {
		return verdict{source: sourceNone, rejected: &Error{
			kind: ErrTooMany, Detail: "too many tokens from this address were rejected",
			RetryAfter: retryTooMany,
			Remedy:     "send a token that is valid for this server",
		}}
	}
	v := t.review(ctx, token, key)
	if v.rejected == nil {
		t.addresses.GiveBack(from)
	}
	return v
}

// review verifies a token with the API server.
func (t *tokens) review(ctx context.Context, token string, key [sha256.Size]byte) verdict {
	id, answered, err := t.reviewer.review(ctx, token, key)
	v := verdict{id: id, source: SourceTokenReview, rejected: err}
	switch {
	case !answered:
	case err == nil:
		// A review does not return the expiry, but a Kubernetes token contains it.
		lasts := reviewAcceptedFor
		if end := endOf(token); !end.IsZero() {
			lasts = min(lasts, end.Sub(t.clock.Now()))
		}
		t.accepted.Add(key, v, lasts)
	default:
		t.rejected.Add(key, v, reviewRejectedFor)
	}
	return v
}

// unverified are claims of a token whose signature is not checked yet. They only select its verifier.
type unverified struct {
	Issuer string   `json:"iss"`
	Expiry *float64 `json:"exp"`
}

func readUnverified(token string) (c unverified) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c // not a JWT; a webhook of the cluster can accept it
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return unverified{}
	}
	return c
}

func issuerOf(token string) string { return readUnverified(token).Issuer }

// endOf returns the expiry of an accepted token; zero if it has none.
func endOf(token string) time.Time {
	if c := readUnverified(token); c.Expiry != nil && *c.Expiry > 0 && *c.Expiry < 1<<40 {
		return time.Unix(int64(*c.Expiry), 0)
	}
	return time.Time{}
}
