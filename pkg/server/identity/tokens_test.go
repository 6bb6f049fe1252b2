package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAuthorizationHeader(t *testing.T) {
	asked := 0
	f := newFixture(t, Default(), reviewOf("a", &asked))
	for name, tc := range map[string]struct {
		values []string
		kind   error
		says   string
	}{
		"none":             {nil, ErrNone, "has no credentials"},
		"twice":            {[]string{"Bearer a", "Bearer b"}, ErrRejected, "2 Authorization headers"},
		"basic":            {[]string{"Basic amFuZTpzZWNyZXQ="}, ErrRejected, "scheme Bearer"},
		"no scheme":        {[]string{"abcdef"}, ErrRejected, "scheme Bearer"},
		"empty":            {[]string{""}, ErrRejected, "scheme Bearer"},
		"no token":         {[]string{"Bearer "}, ErrRejected, "has no token"},
		"two tokens":       {[]string{"Bearer a b"}, ErrRejected, "more than one"},
		"an unusual space": {[]string{"Bearer\ta"}, ErrRejected, "scheme Bearer"},
		"huge": {[]string{"Bearer " + strings.Repeat("a", maxTokenBytes+1)}, ErrRejected,
			"more than 32768 bytes"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for _, value := range tc.values {
			r.Header.Add("Authorization", value)
		}
		if _, err := f.Authenticate(r); !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	if asked > 0 {
		t.Errorf("the API server was asked %d times", asked)
	}
}

// reviewOf answers for one token.
func reviewOf(good string, asked *int) reviewFunc {
	return func(s authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		*asked++
		if s.Token != good {
			return authenticationv1.TokenReviewStatus{Error: "bad " + s.Token}, nil
		}
		return authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: s.Audiences,
			User: authenticationv1.UserInfo{
				Username: "system:serviceaccount:team-a:ci", UID: "u",
				Groups: []string{"system:serviceaccounts", "system:authenticated"},
				Extra:  map[string]authenticationv1.ExtraValue{"k": {"v"}},
			},
		}, nil
	}
}

// TestReviews: the API server says whose a token is, and is not asked again at once.
func TestReviews(t *testing.T) {
	const good, bad = "good-token-of-some-length", "bad-token-of-some-length"
	asked := 0
	f := newFixture(t, Default(), reviewOf(good, &asked))
	want := Identity{
		Name: "system:serviceaccount:team-a:ci", UID: "u", Groups: []string{"system:authenticated",
			"system:serviceaccounts"}, Extra: map[string][]string{"k": {"v"}}, Source: SourceTokenReview,
		Cluster: "default",
	}
	for range 3 {
		got, err := f.bearer(good)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
		if _, err := f.bearer(bad); !errors.Is(err, ErrRejected) {
			t.Fatalf("a bad token: %v", err)
		}
	}
	if asked != 2 {
		t.Errorf("the API server was asked %d times, want once for each token", asked)
	}
	f.clock.Step(reviewAcceptedFor + time.Millisecond)
	if _, err := f.bearer(good); err != nil || asked != 3 {
		t.Errorf("a token may have been revoked meanwhile: %v, asked %d times", err, asked)
	}
	namespace, name, is := want.ServiceAccount()
	if namespace != "team-a" || name != "ci" || !is {
		t.Errorf("it is the service account %s/%s, %v", namespace, name, is)
	}
}

func TestReviewsThatAreNotAccepted(t *testing.T) {
	authenticated := func(change func(*authenticationv1.TokenReviewStatus)) reviewFunc {
		return func(s authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
			status := authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: s.Audiences, User: authenticationv1.UserInfo{Username: "jane"},
			}
			change(&status)
			return status, nil
		}
	}
	failing := func(err error) reviewFunc {
		return func(authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
			return authenticationv1.TokenReviewStatus{}, err
		}
	}
	for name, tc := range map[string]struct {
		reviews reviewFunc
		kind    error
		says    string
	}{
		"no audience": {authenticated(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }),
			ErrRejected, "not for this server"},
		"another audience": {authenticated(func(s *authenticationv1.TokenReviewStatus) {
			s.Audiences = []string{"https://kubernetes.default.svc"}
		}), ErrRejected, "not for this server"},
		"no name": {authenticated(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "" }),
			ErrRejected, "is empty"},
		"the API server is away": {failing(errors.New("connection refused")), ErrUnavailable,
			"does not review"},
		"no right to ask": {failing(apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "",
			errors.New("no"))), ErrUnavailable, "lacks the right to create tokenreviews"},
	} {
		f := newFixture(t, Default(), tc.reviews)
		if _, err := f.bearer("some-token-of-some-length"); !errors.Is(err, tc.kind) ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// TestBadTokensAreLimited: an address that sends many is stopped, but no known caller and no other address.
func TestBadTokensAreLimited(t *testing.T) {
	const good = "good-token-of-some-length"
	asked := 0
	f := newFixture(t, Default(), reviewOf(good, &asked))
	for range 3 * rejectedBurst { // good ones cost nothing
		f.clock.Step(reviewAcceptedFor + time.Millisecond)
		if _, err := f.bearer(good); err != nil {
			t.Fatal(err)
		}
	}
	asked = 0
	var limited int
	for n := range 2 * rejectedBurst {
		if _, err := f.bearer("bad-token-" + strings.Repeat("x", n)); errors.Is(err, ErrTooMany) {
			limited++
		}
	}
	if asked != rejectedBurst || limited != rejectedBurst {
		t.Errorf("of %d bad tokens %d were reviewed and %d limited", 2*rejectedBurst, asked, limited)
	}
	if _, err := f.bearer(good); err != nil {
		t.Errorf("a token that is known, from the same address: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "198.51.100.7:1"
	r.Header.Set("Authorization", "Bearer another-bad-one")
	if _, err := f.Authenticate(r); !errors.Is(err, ErrRejected) {
		t.Errorf("another address: %v", err)
	}
	f.clock.Step(rejectedInterval)
	if _, err := f.bearer("bad-token-later"); !errors.Is(err, ErrRejected) {
		t.Errorf("a second later: %v", err)
	}
}

// TestBadTokensOfOthers: behind one ingress all callers have one address, and one of them sends bad
// tokens without a pause. Tokens whose signature can be verified here are accepted all the same.
func TestBadTokensOfOthers(t *testing.T) {
	issuer, cluster := newFakeIssuer(t), newFakeIssuer(t)
	key, clusterKey := issuer.key("k", "ES256"), cluster.key("k", "RS256")
	stranger := newFakeIssuer(t).key("k", "RS256")
	c := Default()
	c.OIDC = []Issuer{issuer.config(nil)}
	reviewed := 0
	f := newFixture(t, c, func(s authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		reviewed++
		return authenticationv1.TokenReviewStatus{
			Authenticated: !strings.HasPrefix(s.Token, "bad"), Audiences: s.Audiences,
			User: authenticationv1.UserInfo{Username: "jane"},
		}, nil
	}, func(o *Options) { o.ReadReviewCluster = cluster.read }).discovered()
	keys := &f.tokens.reviewer.keys
	eventually(t, "the cluster's keys are read", func() bool { return keys.verifier.Load() != nil })
	of := func(
		key jose.JSONWebKey, algorithm jose.SignatureAlgorithm, from *fakeIssuer, change map[string]any,
	) string {
		return sign(t, key, algorithm, from.claims(f.clock.Now(), change))
	}
	limited := func() (n int) {
		for range 3 * rejectedBurst {
			reviewed++ // so that no token is known
			if _, err := f.bearer(fmt.Sprint("bad-token-", reviewed)); errors.Is(err, ErrTooMany) {
				n++
			}
		}
		return n
	}
	if limited() == 0 {
		t.Fatal("bad tokens are not limited")
	}
	ours := map[string]any{"aud": DefaultAudience}
	for name, tc := range map[string]struct {
		token string
		want  error
	}{
		"of an issuer":               {of(key, "ES256", issuer, nil), nil},
		"of an issuer, forged":       {of(stranger, "RS256", issuer, nil), ErrRejected},
		"of the cluster":             {of(clusterKey, "RS256", cluster, ours), nil},
		"of the cluster, forged":     {of(stranger, "RS256", cluster, ours), ErrTooMany},
		"of the cluster, for others": {of(clusterKey, "RS256", cluster, nil), ErrTooMany},
		"of the cluster, expired": {of(clusterKey, "RS256", cluster, map[string]any{
			"aud": DefaultAudience, "exp": f.clock.Now().Add(-time.Hour).Unix(),
		}), ErrTooMany},
	} {
		if _, err := f.bearer(tc.token); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// TestTokensEnd: what is remembered of a token is not believed after its end.
func TestTokensEnd(t *testing.T) {
	issuer := newFakeIssuer(t)
	key := issuer.key("k", "ES256")
	f := newFixture(t, Config{OIDC: []Issuer{issuer.config(nil)}}, nil).discovered()
	token := sign(t, key, "ES256", issuer.claims(f.clock.Now(),
		map[string]any{"exp": f.clock.Now().Add(10 * time.Second).Unix()}))
	if _, err := f.bearer(token); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(11 * time.Second)
	if _, err := f.bearer(token); !errors.Is(err, ErrRejected) {
		t.Errorf("after its end: %v", err)
	}
}

func TestAddress(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64", "@": "@",
	} {
		if got := Address(&http.Request{RemoteAddr: from}); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}
