package identity

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

const nonce = "a-nonce-of-some-length"

func loginAt(i *fakeIssuer) Issuer {
	return i.config(func(c *Issuer) { c.Login.ClientID = "board" })
}

// TestIDTokens: what an issuer gives for a code counts for this client and this login alone.
func TestIDTokens(t *testing.T) {
	one, two := newFakeIssuer(t), newFakeIssuer(t)
	key, other := one.key("k", jose.ES256), two.key("k", jose.ES256)
	lab := two.config(func(c *Issuer) { c.Prefix, c.Login.ClientID = "lab:", "board" })
	f := newFixture(t, Config{OIDC: []Issuer{loginAt(one), lab}}, nil).discovered()
	all := f.LoginIssuers()
	if len(all) != 2 || all[0].URL() != one.url || all[1].URL() != two.url {
		t.Fatalf("the issuers are %v", all)
	}
	claims := func(change map[string]any) map[string]any {
		c := one.claims(f.clock.Now(), map[string]any{"aud": "board", "nonce": nonce})
		for key, value := range change {
			if c[key] = value; value == nil {
				delete(c, key)
			}
		}
		return c
	}
	for name, tc := range map[string]struct {
		claims map[string]any
		key    jose.JSONWebKey
		says   string
	}{
		"good":                   {nil, key, ""},
		"asked for by us":        {map[string]any{"azp": "board"}, key, ""},
		"for several, by us":     {map[string]any{"aud": []string{"x", "board"}, "azp": "board"}, key, ""},
		"for several":            {map[string]any{"aud": []string{"x", "board"}}, key, "for another client"},
		"asked for by another":   {map[string]any{"azp": "x"}, key, "for another client"},
		"for the API":            {map[string]any{"aud": audience}, key, "not for this server"},
		"of another login":       {map[string]any{"nonce": "another"}, key, "belongs to another login"},
		"of no login":            {map[string]any{"nonce": nil}, key, "belongs to another login"},
		"over":                   {map[string]any{"exp": f.clock.Now().Add(-time.Second).Unix()}, key, "expired"},
		"of another issuer":      {map[string]any{"iss": two.url}, other, "malformed"},
		"by another issuer's":    {nil, other, "malformed"},
		"of a name it must have": {map[string]any{"sub": nil}, key, "no string claim sub"},
	} {
		raw := sign(t, tc.key, jose.ES256, claims(tc.claims))
		v, err := all[0].Verify(t.Context(), raw, nonce)
		if tc.says != "" {
			if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %q", name, err, tc.says)
			}
			continue
		}
		want := Verified{
			Identity: Identity{Name: "corp:jane", Groups: []string{"corp:team-a", "corp:team-b"}, Source: SourceOIDC},
			Ends:     f.clock.Now().Add(time.Hour).Truncate(time.Second), Origin: f.issuers[one.url].origin(),
		}
		if diff := cmp.Diff(want, v, cmp.Transformer("UTC", time.Time.UTC)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	raw := sign(t, key, jose.ES256, claims(map[string]any{"nonce": ""}))
	if _, err := all[0].Verify(t.Context(), raw, ""); !errors.Is(err, ErrRejected) {
		t.Errorf("without a nonce: %v", err)
	}
	// The API takes them for its own audience alone.
	if _, err := f.bearer(sign(t, key, jose.ES256, claims(nil))); !errors.Is(err, ErrRejected) {
		t.Errorf("as a bearer token: %v", err)
	}
}

// TestEndpoints: where an issuer's users log in, it says itself, and nothing but TLS leads there.
func TestEndpoints(t *testing.T) {
	for name, tc := range map[string]struct {
		more map[string]any
		says string
		want Endpoints
	}{
		"no methods": {nil, "", Endpoints{}},
		"all of it": {map[string]any{
			"token_endpoint_auth_methods_supported":          []string{"client_secret_post"},
			"authorization_response_iss_parameter_supported": true,
		}, "", Endpoints{SecretInForm: true, NamesIssuer: true}},
		"both ways": {map[string]any{
			"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
		}, "", Endpoints{}},
		"none of them": {map[string]any{"token_endpoint_auth_methods_supported": []string{"private_key_jwt"}},
			"login is not possible", Endpoints{}},
		"plain HTTP": {map[string]any{"token_endpoint": "http://a.example.com"}, "token_endpoint is not",
			Endpoints{}},
		"nowhere to log in at": {map[string]any{"authorization_endpoint": nil}, "authorization_endpoint is not",
			Endpoints{}},
	} {
		served := newFakeIssuer(t)
		served.more = tc.more
		f := newFixture(t, Config{}, nil)
		i := &issuer{Issuer: loginAt(served), clock: f.clock}
		if err := i.discover(t.Context()); (err == nil) != (tc.says == "") ||
			err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		if i.verifier.Load() == nil {
			t.Errorf("%s: tokens are not verified", name)
		}
		got, err := (&LoginIssuer{i}).Endpoints()
		if tc.says != "" {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		tc.want.Authorization, tc.want.Token = served.url+"/authorize", served.url+"/token"
		shown := *got
		shown.Client = nil
		if diff := cmp.Diff(tc.want, shown); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestCodesAreNotSentOn: a token endpoint that redirects gets no second request.
func TestCodesAreNotSentOn(t *testing.T) {
	served := newFakeIssuer(t)
	asked := 0
	var elsewhere string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	elsewhere = server.URL + "/elsewhere"
	document := discoveryDocument{}
	document.AuthURL, document.TokenURL = served.url, server.URL
	e, err := document.endpoints(server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	response, err := e.Client.Post(e.Token, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if asked != 1 || response.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("asked %d times, status %d", asked, response.StatusCode)
	}
}

// TestVerifyToken: a token that a browser brings says the same as one in the header, and when it ends.
func TestVerifyToken(t *testing.T) {
	issuer := newFakeIssuer(t)
	key := issuer.key("k", jose.ES256)
	asked := 0
	c := Default()
	c.OIDC = []Issuer{issuer.config(nil)}
	const reviewed = "e30.eyJleHAiOjQwMDAwMDAwMDB9.c2ln" // exp 4000000000
	f := newFixture(t, c, reviewOf(reviewed, &asked)).discovered()
	end := f.clock.Now().Add(time.Hour).Truncate(time.Second)
	issued := sign(t, key, jose.ES256, issuer.claims(f.clock.Now(), nil))
	for token, want := range map[string]Verified{
		issued: {Identity: Identity{Name: "corp:jane"}, Ends: end, Origin: f.issuers[issuer.url].origin()},
		reviewed: {Identity: Identity{Name: "system:serviceaccount:team-a:ci"}, Ends: time.Unix(4000000000, 0),
			Origin: f.review},
	} {
		got, err := f.VerifyToken(t.Context(), token, "192.0.2.1")
		if err != nil || got.Name != want.Name || !got.Ends.Equal(want.Ends) || got.Origin != want.Origin {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	for _, bad := range []string{"", "two tokens", strings.Repeat("a", maxTokenBytes+1), "another-token"} {
		if _, err := f.VerifyToken(t.Context(), bad, "192.0.2.1"); !errors.Is(err, ErrRejected) {
			t.Errorf("%.20s: %v", bad, err)
		}
	}
}

// TestOrigins change with what makes other users of the same tokens, and with nothing else.
func TestOrigins(t *testing.T) {
	origins := func(change func(*Config)) string {
		c := Default()
		c.OIDC = []Issuer{{URL: "https://sso.example.com", Audiences: []string{"a"}, Prefix: "corp:"}}
		change(&c)
		return strings.Join(newFixture(t, c, reviewOf("a", new(int))).Origins(), " ")
	}
	before := origins(func(*Config) {})
	if n := len(strings.Fields(before)); n != 2 {
		t.Fatalf("%d origins: %s", n, before)
	}
	for name, tc := range map[string]struct {
		change func(*Config)
		same   bool
	}{
		"audiences of the API": {func(c *Config) { c.OIDC[0].Audiences = []string{"b"} }, true},
		"a claim by its name":  {func(c *Config) { c.OIDC[0].UsernameClaim = DefaultUsernameClaim }, true},
		"the prefix":           {func(c *Config) { c.OIDC[0].Prefix = "b:" }, false},
		"a required claim":     {func(c *Config) { c.OIDC[0].RequiredClaims = map[string]string{"a": "b"} }, false},
		"no reviews":           {func(c *Config) { c.TokenReview = TokenReview{} }, false},
		"reviewed audiences":   {func(c *Config) { c.TokenReview.Audiences = []string{"b"} }, false},
	} {
		if got := origins(tc.change); (got == before) != tc.same {
			t.Errorf("%s: %s, before %s", name, got, before)
		}
	}
}

func TestReservedNamesInLinks(t *testing.T) {
	v, err := FromLink("demo", []string{"b", "a", "a"})
	want := Identity{Name: "demo", Groups: []string{"a", "b"}, Source: SourceLink}
	if diff := cmp.Diff(want, v.Identity); diff != "" || err != nil || v.Origin == "" {
		t.Errorf("%v, %q\n%s", err, v.Origin, diff)
	}
	for name, user := range map[string][]string{
		"a reserved name": {"system:admin"}, "a reserved group": {"demo", "system:masters"}, "no name": {""},
		"a group of no name": {"demo", ""}, "a line": {"a\nb"},
	} {
		if _, err := FromLink(user[0], user[1:]); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestExplicit(t *testing.T) {
	for header, want := range map[string]bool{
		"Authorization": true, "X-User": true, "X-Groups": true, "Cookie": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(header, "")
		if Explicit(r) != want {
			t.Errorf("%s: %t", header, !want)
		}
	}
}
