package identity

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidate(t *testing.T) {
	good := Issuer{URL: "https://sso.example.com", Audiences: []string{"a"}, Prefix: "corp:"}
	issuer := func(change func(*Issuer)) Config {
		c := good
		change(&c)
		return Config{OIDC: []Issuer{c}}
	}
	scopes := func(all ...string) func(*Issuer) {
		return func(i *Issuer) { i.Login = Login{ClientID: "a", Scopes: all} }
	}
	proxies := Proxies{ClientCAFile: "/etc/ca.crt", Names: []string{"gateway"}}
	for name, tc := range map[string]struct {
		config Config
		want   string // of the first error; empty: there is none
	}{
		"nothing":     {Config{}, ""},
		"the default": {Default(), ""},
		"an issuer":   {issuer(func(*Issuer) {}), ""},
		"proxies":     {Config{Proxies: proxies}, ""},
		"no URL":      {issuer(func(i *Issuer) { i.URL = "" }), "identity.oidc[0].url: Required"},
		"plain HTTP":  {issuer(func(i *Issuer) { i.URL = "http://sso.example.com" }), "must be https://"},
		"a password": {issuer(func(i *Issuer) { i.URL = "https://a:b@sso.example.com" }),
			"must not have credentials"},
		"a query": {issuer(func(i *Issuer) { i.DiscoveryURL = "https://a.example.com/?x" }),
			"discoveryURL"},
		"no audience": {issuer(func(i *Issuer) { i.Audiences = nil }), "audiences: Required"},
		"no prefix":   {issuer(func(i *Issuer) { i.Prefix = "" }), "prefix: Required"},
		"system":      {issuer(func(i *Issuer) { i.Prefix = "system:corp:" }), `begin with "system:"`},
		"sys":         {issuer(func(i *Issuer) { i.Prefix = "sys" }), `begin with "system:"`},
		"a space":     {issuer(func(i *Issuer) { i.Prefix = "corp " }), "without spaces"},
		"a path":      {issuer(func(i *Issuer) { i.CAFile = "ca.crt" }), "absolute path"},
		"an odd claim": {issuer(func(i *Issuer) { i.RequiredClaims = map[string]string{"a": ""} }),
			"requiredClaims[a]"},
		"a login": {issuer(func(i *Issuer) {
			i.Login = Login{ClientID: "board", ClientSecretFile: "/etc/secret", Scopes: []string{"groups"}}
		}), ""},
		"a public client": {issuer(scopes()), ""},
		"a login without client": {issuer(func(i *Issuer) { i.Login.Scopes = []string{} }),
			"login.clientID: Required"},
		"an odd client": {issuer(func(i *Issuer) { i.Login.ClientID = "a b" }),
			"oidc[0].login.clientID: Invalid"},
		"a secret nowhere": {issuer(func(i *Issuer) {
			i.Login = Login{ClientID: "a", ClientSecretFile: "s"}
		}), "absolute path"},
		"a scope twice":       {issuer(scopes("a", "a")), "login.scopes[1]: Duplicate"},
		"a scope with quotes": {issuer(scopes(`a"`)), "login.scopes[0]"},
		"openid":              {issuer(scopes("openid")), "remove it"},
		"issuers twice":       {Config{OIDC: []Issuer{good, good}}, "oidc[1].url: Duplicate"},
		"prefix of another": {Config{OIDC: []Issuer{good,
			{URL: "https://b.example.com", Audiences: []string{"a"}, Prefix: "corp:b:"}}},
			"is a beginning of the other"},
		"no review audience": {Config{TokenReview: TokenReview{Enabled: true}}, "tokenReview.audiences: Required"},
		"a cluster for nothing": {Config{TokenReview: TokenReview{Cluster: "a"}},
			"tokenReview.cluster: Invalid"},
		"proxies without names": {Config{Proxies: Proxies{ClientCAFile: "/etc/ca.crt"}}, "proxies.names: Required"},
		"names without a CA":    {Config{Proxies: Proxies{Names: []string{"a"}}}, "clientCAFile: Required"},
		"proxies of the system": {Config{Proxies: Proxies{ClientCAFile: "/etc/ca.crt", Names: []string{"a"},
			Prefix: "system:"}}, "proxies.prefix"},
	} {
		errs := tc.config.Validate(field.NewPath("identity"))
		switch {
		case tc.want == "" && len(errs) > 0:
			t.Errorf("%s: %v", name, errs)
		case tc.want != "" && (len(errs) == 0 || !strings.Contains(errs[0].Error(), tc.want)):
			t.Errorf("%s: %v, want %q", name, errs, tc.want)
		}
	}
}

// TestKey: what differs in anything has another key.
func TestKey(t *testing.T) {
	all := []Identity{
		{}, {Name: "a"}, {Name: "a", UID: "u"}, {Name: "a", Groups: []string{"b"}},
		{Name: "a", Groups: []string{"b,c"}},
		{Name: "a", Groups: []string{"b", "c"}}, {Name: "a", Extra: map[string][]string{"k": {"v"}}},
		{Name: "a", Source: SourceOIDC}, {Name: "a", Cluster: "c"},
	}
	seen := map[string]int{}
	for n, id := range all {
		if former, there := seen[id.Key()]; there {
			t.Errorf("%+v and %+v have the same key", all[former], id)
		}
		seen[id.Key()] = n
	}
	if (Identity{Groups: []string{"a", "b"}}).Key() != (Identity{Groups: []string{"b", "a"}}).Key() {
		t.Error("the order of groups counts")
	}
}
