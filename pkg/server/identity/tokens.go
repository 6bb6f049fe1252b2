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

// verdict on a token: whose it is, or why it is rejected.
type verdict struct {
	id       Identity
	source   Source
	rejected *Error
}

// tokens says whose a bearer token is, and remembers it for a while by the token's SHA-256.
type tokens struct {
	clock     clock.Clock
	issuers   map[string]*issuer
	reviewer  *tokenReviewer // nil where token reviews are off
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

// bearerToken reads the token from the values of the header Authorization.
func bearerToken(values []string) (string, error) {
	const remedy = `send one header "Authorization: Bearer <token>"`
	if len(values) != 1 {
		return "", rejected(remedy, "the header Authorization is there %d times", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", rejected(remedy, "the header Authorization is of another scheme than Bearer")
	case len(token) > maxTokenBytes:
		return "", rejected("send a token with fewer claims", "the token has more than %d bytes", maxTokenBytes)
	case token == "" || strings.ContainsFunc(token, unprintable):
		return "", rejected(remedy, "the header Authorization holds no token, or more than one")
	}
	return token, nil
}

// identity says whose a token is that came from an address.
func (t *tokens) identity(ctx context.Context, token, from string) (Identity, Source, error) {
	key := sha256.Sum256([]byte(token))
	for _, known := range []*cache.LRUExpireCache{t.accepted, t.rejected} {
		if found, ok := known.Get(key); ok {
			v := found.(verdict)
			return v.id, v.source, asError(v.rejected)
		}
	}
	// An event is used up before the token is looked at, for many requests may arrive at the same time, and
	// given back for a good token alone: whoever hangs up has caused the same work.
	if !t.addresses.Take(from, t.clock.Now()) {
		return Identity{}, sourceNone, &Error{
			kind: ErrTooMany, Detail: "too many tokens from this address were not accepted", RetryAfter: retryTooMany,
			Remedy: "send a token that is valid for this server",
		}
	}
	v := t.judge(ctx, token, key)
	if v.rejected == nil {
		t.addresses.GiveBack(from)
	}
	return v.id, v.source, asError(v.rejected)
}

// judge asks whoever knows: the issuer that the token names, if it is configured, else the API server. There
// is no second try: a token that its issuer rejects is rejected.
func (t *tokens) judge(ctx context.Context, token string, key [sha256.Size]byte) verdict {
	named := issuerOf(token)
	if i, ok := t.issuers[named]; ok {
		id, end, err := i.verify(ctx, token)
		v := verdict{id: id, source: SourceOIDC, rejected: err}
		if err == nil {
			t.accepted.Add(key, v, min(acceptedFor, end.Sub(t.clock.Now())))
		}
		return v
	}
	if t.reviewer == nil {
		return verdict{source: sourceNone, rejected: rejected("send a token of an issuer that the server's admin "+
			"has configured", "the token's issuer is not known here")}
	}
	id, answered, err := t.reviewer.review(ctx, token, key)
	v := verdict{id: id, source: SourceTokenReview, rejected: err}
	switch {
	case !answered:
	case err == nil:
		// A review does not say when the token ends, but a Kubernetes token does.
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

// unverified are claims of a token whose signature nobody has checked yet: enough to choose who checks it.
type unverified struct {
	Issuer string   `json:"iss"`
	Expiry *float64 `json:"exp"`
}

func readUnverified(token string) (c unverified) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c // no JWT; a webhook of the cluster may know it
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return unverified{}
	}
	return c
}

func issuerOf(token string) string { return readUnverified(token).Issuer }

// endOf an accepted token; zero where it says none.
func endOf(token string) time.Time {
	if c := readUnverified(token); c.Expiry != nil && *c.Expiry > 0 && *c.Expiry < 1<<40 {
		return time.Unix(int64(*c.Expiry), 0)
	}
	return time.Time{}
}
