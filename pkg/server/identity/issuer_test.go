package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

func TestIssuersTokens(t *testing.T) {
	issuer := newFakeIssuer(t)
	rs, es, ed := issuer.key("rs", jose.RS256), issuer.key("es", jose.ES256), issuer.key("ed", jose.EdDSA)
	stranger := newFakeIssuer(t).key("es", jose.ES256)
	f := newFixture(t, Config{OIDC: []Issuer{issuer.config(func(c *Issuer) {
		c.RequiredClaims = map[string]string{"tenant": "ours"}
		c.Audiences = []string{"other", audience}
	})}}, nil).discovered()
	now := f.clock.Now()
	claims := func(change map[string]any) map[string]any {
		all := issuer.claims(now, map[string]any{"tenant": "ours"})
		for key, value := range change {
			if all[key] = value; value == nil {
				delete(all, key)
			}
		}
		return all
	}
	public, err := rs.Public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	jane := Identity{Name: "corp:jane", Groups: []string{"corp:team-a", "corp:team-b"}, Source: SourceOIDC}
	alone := Identity{Name: "corp:jane", Source: SourceOIDC}
	many := make([]string, maxGroups+1)
	for n := range many {
		many[n] = fmt.Sprint(n)
	}
	for name, tc := range map[string]struct {
		reason    string
		key       any
		algorithm jose.SignatureAlgorithm
		claims    map[string]any
		want      Identity
		says      string
	}{
		"RS256": {reason: "every asymmetric algorithm of the document counts", key: rs, algorithm: jose.RS256,
			want: jane},
		"ES256": {reason: "an asymmetric algorithm", key: es, algorithm: jose.ES256, want: jane},
		"EdDSA": {reason: "an asymmetric algorithm", key: ed, algorithm: jose.EdDSA, want: jane},
		"HS256 with the public key": {reason: "a shared secret that everybody knows", key: public,
			algorithm: jose.HS256, says: "not signed by the issuer"},
		"PS256": {reason: "the document does not name it", key: rs.Key, algorithm: jose.PS256,
			says: "not signed by the issuer"},
		"a stranger's key": {reason: "of the same name", key: stranger, algorithm: jose.ES256,
			says: "not signed by the issuer"},
		"another audience": {reason: "a token for another service", claims: map[string]any{"aud": "vault"},
			says: "not for this server"},
		"no audience": {reason: "a token for no service", claims: map[string]any{"aud": nil},
			says: "not for this server"},
		"several audiences": {reason: "one of them is ours", claims: map[string]any{"aud": []string{"x", audience}},
			want: jane},
		"expired": {reason: "its time is over", claims: map[string]any{"exp": now.Add(-time.Second).Unix()},
			says: "the token expired at "},
		"without end": {reason: "it would be valid for ever", claims: map[string]any{"exp": nil}, says: "expired"},
		"not yet valid": {reason: "clocks differ by less", claims: map[string]any{"nbf": now.Add(time.Hour).Unix()},
			says: "not valid yet"},
		"a required claim": {reason: "another tenant of the issuer", claims: map[string]any{"tenant": "theirs"},
			says: `claim tenant is not "ours"`},
		"no name":      {reason: "no user", claims: map[string]any{"sub": nil}, says: "no string claim sub"},
		"an empty one": {reason: "no user", claims: map[string]any{"sub": ""}, says: "no string claim sub"},
		"a number":     {reason: "not a name", claims: map[string]any{"sub": 7}, says: "malformed"},
		"a space at its end": {reason: "headers lose it: it would be jane",
			claims: map[string]any{"sub": "jane "}, says: "ends with a space"},
		"a line in it": {reason: "headers", claims: map[string]any{"sub": "jane\r\nX: y"},
			says: "control characters"},
		"system": {reason: "the prefix makes it harmless",
			claims: map[string]any{"sub": "system:admin", "groups": "system:masters"},
			want:   Identity{Name: "corp:system:admin", Groups: []string{"corp:system:masters"}, Source: SourceOIDC}},
		"one group": {reason: "some issuers write a list of one as a text", claims: map[string]any{"groups": "a"},
			want: Identity{Name: "corp:jane", Groups: []string{"corp:a"}, Source: SourceOIDC}},
		"groups twice": {reason: "each counts once", claims: map[string]any{"groups": []string{"a", "a"}},
			want: Identity{Name: "corp:jane", Groups: []string{"corp:a"}, Source: SourceOIDC}},
		"no groups": {reason: "many have none", claims: map[string]any{"groups": nil}, want: alone},
		"odd groups": {reason: "not a list", claims: map[string]any{"groups": map[string]int{}},
			says: "neither a string"},
		"odder ones": {reason: "not texts", claims: map[string]any{"groups": []any{"a", nil}},
			says: "neither a string"},
		"empty group": {reason: "the prefix alone is no group", claims: map[string]any{"groups": []string{""}},
			says: "without a name"},
		"too many groups": {reason: "each is a header", claims: map[string]any{"groups": many},
			says: "more than 1000 groups"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.key == nil {
				tc.key, tc.algorithm = es, jose.ES256
			}
			got, err := f.bearer(sign(t, tc.key, tc.algorithm, claims(tc.claims)))
			f.clock.Step(time.Second) // an allowance comes back
			if tc.says != "" {
				if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %+v, %v, want %q: %s", got, err, tc.says, tc.reason)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestEmailMustBeVerified: an unverified address, which users can choose, does not name a user.
func TestEmailMustBeVerified(t *testing.T) {
	issuer := newFakeIssuer(t)
	key := issuer.key("es", jose.ES256)
	f := newFixture(t, Config{OIDC: []Issuer{issuer.config(func(c *Issuer) { c.UsernameClaim = "email" })}},
		nil).discovered()
	for verified, want := range map[any]string{
		true: "", nil: "", false: "not verified", "true": "not verified",
	} {
		_, err := f.bearer(sign(t, key, jose.ES256, issuer.claims(f.clock.Now(),
			map[string]any{"email": "jane@example.com", "email_verified": verified})))
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("email_verified %v: %v", verified, err)
		}
	}
}

// TestTwoIssuers: the same subject of two issuers is two users, and neither can name the other's issuer.
func TestTwoIssuers(t *testing.T) {
	one, two := newFakeIssuer(t), newFakeIssuer(t)
	keyOne, keyTwo := one.key("k", jose.ES256), two.key("k", jose.ES256)
	f := newFixture(t, Config{OIDC: []Issuer{
		one.config(nil), two.config(func(c *Issuer) { c.Prefix = "lab:" }),
	}}, nil).discovered()
	now := f.clock.Now()
	for want, token := range map[string]string{
		"corp:jane": sign(t, keyOne, jose.ES256, one.claims(now, nil)),
		"lab:jane":  sign(t, keyTwo, jose.ES256, two.claims(now, nil)),
	} {
		if got, err := f.bearer(token); err != nil || got.Name != want {
			t.Errorf("got %+v, %v, want %s", got, err, want)
		}
	}
	if _, err := f.bearer(sign(t, keyTwo, jose.ES256, one.claims(now, nil))); !errors.Is(err, ErrRejected) {
		t.Errorf("a token in the other issuer's name: %v", err)
	}
}

// TestKeysRotate: a token of a new key is accepted as soon as it is published, and a client that sends tokens
// of keys that are not cannot have the issuer asked more than once a second.
func TestKeysRotate(t *testing.T) {
	issuer := newFakeIssuer(t)
	first := issuer.key("1", jose.ES256)
	f := newFixture(t, Config{OIDC: []Issuer{issuer.config(nil)}}, nil).discovered()
	now := f.clock.Now()
	if _, err := f.bearer(sign(t, first, jose.ES256, issuer.claims(now, nil))); err != nil {
		t.Fatal(err)
	}
	issuer.change(func() { issuer.keys = nil })
	second := issuer.key("2", jose.ES256)
	f.clock.Step(keysFresh)
	if _, err := f.bearer(sign(t, second, jose.ES256, issuer.claims(now, nil))); err != nil {
		t.Fatalf("a token of the new key: %v", err)
	}
	f.clock.Step(acceptedFor) // what was remembered is forgotten
	if _, err := f.bearer(sign(t, first, jose.ES256, issuer.claims(now, nil))); !errors.Is(err, ErrRejected) {
		t.Errorf("a token of the old key, which is not published any more: %v", err)
	}
	stranger := newFakeIssuer(t)
	var before int
	issuer.change(func() { before = issuer.asked })
	for range rejectedBurst / 2 {
		_, _ = f.bearer(sign(t, stranger.key("3", jose.ES256), jose.ES256, issuer.claims(now, nil)))
	}
	issuer.change(func() {
		if issuer.asked != before {
			t.Errorf("strangers had the issuer asked %d times within a second", issuer.asked-before)
		}
	})
}

// TestIssuerIsAway: one that does not answer makes its own tokens wait, and no others.
func TestIssuerIsAway(t *testing.T) {
	away, there := newFakeIssuer(t), newFakeIssuer(t)
	keyAway, keyThere := away.key("k", jose.ES256), there.key("k", jose.ES256)
	away.change(func() { away.down = true })
	f := newFixture(t, Config{OIDC: []Issuer{
		away.config(nil), there.config(func(c *Issuer) { c.Prefix = "lab:" }),
	}}, nil)
	eventually(t, "the other issuer has answered", func() bool {
		return f.issuers[there.url].verifier.Load() != nil
	})
	now := f.clock.Now()
	if _, err := f.bearer(sign(t, keyThere, jose.ES256, there.claims(now, nil))); err != nil {
		t.Errorf("the other issuer's token: %v", err)
	}
	token := sign(t, keyAway, jose.ES256, away.claims(now, nil))
	if _, err := f.bearer(token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("its token: %v, want %v", err, ErrUnavailable)
	}
	away.change(func() { away.down = false })
	eventually(t, "it is asked again", func() bool {
		f.clock.Step(lastRetry)
		return f.issuers[away.url].verifier.Load() != nil
	})
	later := away.claims(f.clock.Now(), nil)
	if _, err := f.bearer(sign(t, keyAway, jose.ES256, later)); err != nil {
		t.Errorf("its token, once it has answered: %v", err)
	}
	// Now it is away again, and its keys have changed.
	unknown := away.key("new", jose.ES256)
	away.change(func() { away.down = true })
	f.clock.Step(keysFresh)
	if _, err := f.bearer(sign(t, unknown, jose.ES256, later)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a token of a key that cannot be fetched: %v, want %v", err, ErrUnavailable)
	}
}

// TestDocumentsThatAreNotUsed: what an issuer says of itself must be what is configured.
func TestDocumentsThatAreNotUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fakeIssuer, *Issuer)
		says   string
	}{
		"of another issuer": {func(i *fakeIssuer, _ *Issuer) { i.issuer = "https://other.example.com" },
			`issuer is "https://other.example.com"`},
		"shared secrets alone": {func(i *fakeIssuer, _ *Issuer) { i.algorithms = []string{"HS256"} },
			"signs only with HS256"},
		"another CA": {func(_ *fakeIssuer, c *Issuer) { c.CAFile = "" }, "certificate"},
		"no CA":      {func(_ *fakeIssuer, c *Issuer) { c.CAFile = "/nowhere/ca.crt" }, "reading the CAs"},
		"away":       {func(i *fakeIssuer, _ *Issuer) { i.down = true }, "502"},
		"found elsewhere": {func(_ *fakeIssuer, c *Issuer) {
			c.DiscoveryURL = c.URL + "/elsewhere/.well-known/openid-configuration"
		}, ""},
		"plain HTTP": {func(_ *fakeIssuer, c *Issuer) {
			c.DiscoveryURL = "http" + strings.TrimPrefix(c.URL, "https")
		}, "is not https"},
	} {
		t.Run(name, func(t *testing.T) {
			served := newFakeIssuer(t)
			c := served.config(nil)
			tc.change(served, &c)
			i := &issuer{Issuer: c, clock: newFixture(t, Config{}, nil).clock}
			err := i.discover(t.Context())
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// TestAlgorithms: shared secrets are never among them.
func TestAlgorithms(t *testing.T) {
	for document, want := range map[string]string{
		"": "RS256", "none HS256 ES256 ES256K EdDSA": "ES256 EdDSA", "HS256 HS384": "",
	} {
		got, err := algorithmsOf(strings.Fields(document))
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %v, %v", document, got, err)
		}
	}
}
