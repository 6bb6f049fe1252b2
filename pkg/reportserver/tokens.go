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

const (
	maxTokenBytes = 16 << 10
	// acceptedFor is how long a review holds. A pod that is deleted is refused at once all the same: it leaves the caches.
	acceptedFor = time.Minute
	refusedFor  = 10 * time.Second
	// The two kinds of results are kept apart, so that a flood of bad tokens drives no good one out.
	maxAccepted, maxRefused = 16384, 1024
	// reviewTimeout and maxReviews bound what the API server is asked.
	reviewTimeout = 5 * time.Second
	maxReviews    = 32
)

// identity is the pod that a token is bound to.
type identity struct {
	namespace, pod string
	uid            types.UID
}

// tokens asks the API server whose a token is, and remembers the answer by the token's SHA-256.
type tokens struct {
	reviews  authenticationclient.TokenReviewInterface
	audience string
	accepted *cache.LRUExpireCache
	refused  *cache.LRUExpireCache
	flight   singleflight.Group
	slots    chan struct{}
}

func newTokens(reviews authenticationclient.TokenReviewInterface, audience string, c clock.PassiveClock) *tokens {
	return &tokens{
		reviews: reviews, audience: audience, slots: make(chan struct{}, maxReviews),
		accepted: cache.NewLRUExpireCacheWithClock(maxAccepted, c), refused: cache.NewLRUExpireCacheWithClock(maxRefused, c),
	}
}

// bearer reads the token of a request.
func bearer(h http.Header) (string, *refusal) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", refuse(http.StatusUnauthorized, resultToken, "the header Authorization is there %d times: send one, with the pod's projected token", len(values))
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", refuse(http.StatusUnauthorized, resultToken, "the header Authorization holds no bearer token: send \"Bearer\" and the pod's projected token")
	}
	if len(token) > maxTokenBytes {
		return "", refuse(http.StatusUnauthorized, resultToken, "the token has more than %d bytes: send the pod's projected token", maxTokenBytes)
	}
	return token, nil
}

// reviewed is a token's result: one of the two.
type reviewed struct {
	who identity
	no  *refusal
}

// known says what is remembered of a token.
func (t *tokens) known(token string) (reviewed, bool) {
	key := sha256.Sum256([]byte(token))
	for _, c := range []*cache.LRUExpireCache{t.accepted, t.refused} {
		if r, ok := c.Get(key); ok {
			return r.(reviewed), true
		}
	}
	return reviewed{}, false
}

// review asks. Requests with the same token share one question, which goes on when the first of them hangs up.
func (t *tokens) review(ctx context.Context, token string) reviewed {
	key := sha256.Sum256([]byte(token))
	answer := t.flight.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		r, certain := t.ask(ctx, token)
		switch {
		case certain && r.no == nil:
			t.accepted.Add(key, r, acceptedFor)
		case certain:
			t.refused.Add(key, r, refusedFor)
		}
		return r, nil
	})
	select {
	case a := <-answer:
		return a.Val.(reviewed)
	case <-ctx.Done():
		return reviewed{no: refuse(http.StatusServiceUnavailable, resultDisconnected, "the request has ended")}
	}
}

// ask the API server. What it did not say is not certain and is not remembered.
func (t *tokens) ask(ctx context.Context, token string) (result reviewed, certain bool) {
	unavailable := reviewed{no: refuse(http.StatusServiceUnavailable, resultUnavailable,
		"the API server did not say whose the token is: report again").after(retryUnavailable)}
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
	return t.judge(&review.Status), true
}

// judge a review. An authenticator that knows no audiences leaves them out: its word says nothing about ours.
func (t *tokens) judge(s *authenticationv1.TokenReviewStatus) reviewed {
	no := func(format string, args ...any) reviewed {
		return reviewed{no: refuse(http.StatusUnauthorized, resultToken, format, args...)}
	}
	switch {
	case !s.Authenticated:
		return no("the token is expired, of another audience, or of a pod that is gone: send the projected token with audience %s", t.audience)
	case !slices.Contains(s.Audiences, t.audience):
		return no("the token is not for audience %s: send the projected token with that audience", t.audience)
	}
	namespace, _, err := serviceaccount.SplitUsername(s.User.Username)
	if err != nil {
		return no("the token is not a service account's: send the pod's projected token")
	}
	name, uid := s.User.Extra[serviceaccount.PodNameKey], s.User.Extra[serviceaccount.PodUIDKey]
	if len(name) != 1 || len(uid) != 1 || name[0] == "" || uid[0] == "" {
		return no("the token is bound to no pod: send the pod's projected token")
	}
	return reviewed{who: identity{namespace: namespace, pod: name[0], uid: types.UID(uid[0])}}
}
