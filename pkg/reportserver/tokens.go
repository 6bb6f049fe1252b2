package reportserver

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/utils/clock"
)

// podIdentity is the pod that a token is bound to.
type podIdentity struct {
	namespace, name string
	uid             types.UID
}

// reviewResult of a token: either the pod that it is bound to, or a rejection.
type reviewResult struct {
	pod      podIdentity
	rejected *rejection
}

// tokenReviewer requests token reviews from the API server, and caches the pods by the token's SHA-256.
type tokenReviewer struct {
	reviews  authenticationclient.TokenReviewInterface
	audience string
	accepted *cache.LRUExpireCache
	rejected *cache.LRUExpireCache
	// lifetime of an accepted token in the cache.
	lifetime func(podIdentity) time.Duration
	flight   singleflight.Group
	slots    chan struct{}
}

func newTokenReviewer(
	reviews authenticationclient.TokenReviewInterface, audience string, c clock.PassiveClock,
	size int, lifetime func(podIdentity) time.Duration,
) *tokenReviewer {
	return &tokenReviewer{
		reviews: reviews, audience: audience, lifetime: lifetime, slots: make(chan struct{}, maxReviews),
		accepted: cache.NewLRUExpireCacheWithClock(size, c),
		rejected: cache.NewLRUExpireCacheWithClock(maxRejected, c),
	}
}

// reportTokenLifetime is that of the tokens in reports.
func reportTokenLifetime(podIdentity) time.Duration { return acceptedFor }

// bearerToken returns the token of a request.
func bearerToken(h http.Header) (string, *rejection) {
	unauthorized := func(format string, args ...any) (string, *rejection) {
		return "", reject(http.StatusUnauthorized, resultToken, format, args...)
	}
	values := h.Values("Authorization")
	if len(values) != 1 {
		return unauthorized("the request has %d Authorization headers: send one, with the pod's projected "+
			"token",
			len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsFunc(token, unprintable) {
		return unauthorized("the Authorization header has no bearer token: " +
			"send \"Bearer\" and the pod's projected token")
	}
	if len(token) > maxTokenBytes {
		return unauthorized("the token has more than %d bytes: send the pod's projected token", maxTokenBytes)
	}
	return token, nil
}

// cached returns the result of an earlier review, if any.
func (t *tokenReviewer) cached(token string) (reviewResult, bool) {
	key := sha256.Sum256([]byte(token))
	for _, c := range []*cache.LRUExpireCache{t.accepted, t.rejected} {
		if r, ok := c.Get(key); ok {
			return r.(reviewResult), true
		}
	}
	return reviewResult{}, false
}

// review requests a review. Concurrent requests with the same token share one review, which continues if the
// first of them is canceled.
func (t *tokenReviewer) review(ctx context.Context, token string) reviewResult {
	key := sha256.Sum256([]byte(token))
	shared := t.flight.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		r, answered := t.ask(ctx, token)
		switch {
		case answered && r.rejected == nil:
			t.accepted.Add(key, r, t.lifetime(r.pod))
		case answered:
			t.rejected.Add(key, r, rejectedFor)
		}
		return r, nil
	})
	select {
	case r := <-shared:
		return r.Val.(reviewResult)
	case <-ctx.Done():
		return reviewResult{rejected: reject(http.StatusServiceUnavailable, resultDisconnected,
			"the request has ended")}
	}
}

// ask creates a TokenReview. answered is false if the API server did not respond; such a result is not
// cached.
func (t *tokenReviewer) ask(ctx context.Context, token string) (result reviewResult, answered bool) {
	unavailable := reviewResult{rejected: reject(http.StatusServiceUnavailable, resultUnavailable,
		"the API server did not review the token: report again").after(retryUnavailable)}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return unavailable, false
	}
	review, err := t.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{t.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return unavailable, false
	}
	return resultOf(&review.Status, t.audience), true
}

// resultOf reads a TokenReview's status. An authenticator that does not support audiences returns none and
// has not checked ours, so the token is rejected.
func resultOf(s *authenticationv1.TokenReviewStatus, audience string) reviewResult {
	unauthorized := func(format string, args ...any) reviewResult {
		return reviewResult{rejected: reject(http.StatusUnauthorized, resultToken, format, args...)}
	}
	switch {
	case !s.Authenticated:
		return unauthorized("the token is expired, has another audience, or belongs to a deleted pod: "+
			"send the projected token with audience %s", audience)
	case !slices.Contains(s.Audiences, audience):
		return unauthorized("the token is not for audience %s: send the projected token with that audience",
			audience)
	}
	namespace, _, err := serviceaccount.SplitUsername(s.User.Username)
	if err != nil {
		return unauthorized("the token is not a service account's: send the pod's projected token")
	}
	name, uid := s.User.Extra[serviceaccount.PodNameKey], s.User.Extra[serviceaccount.PodUIDKey]
	if len(name) != 1 || len(uid) != 1 || name[0] == "" || uid[0] == "" {
		return unauthorized("the token is not bound to a pod: send the pod's projected token")
	}
	return reviewResult{pod: podIdentity{namespace: namespace, name: name[0], uid: types.UID(uid[0])}}
}
