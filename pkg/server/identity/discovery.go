package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"k8s.io/utils/clock"
)

// asymmetric are the algorithms with which a verifier of a token cannot issue one.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.EdDSA,
}

// discover reads the discovery document. From then on it is used to verify tokens.
func (i *issuer) discover(ctx context.Context) error {
	at := i.DiscoveryURL
	if at == "" {
		at = strings.TrimSuffix(i.URL, "/") + "/.well-known/openid-configuration"
	}
	transport, err := i.transport()
	if err != nil {
		return err
	}
	document := &discoveryDocument{}
	client := &http.Client{Transport: transport, Timeout: issuerTimeout}
	if err := readDocument(ctx, client, at, document); err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	if document.IssuerURL != i.URL {
		return fmt.Errorf("reading %s: issuer is %q, want %q", at, document.IssuerURL, i.URL)
	}
	if keys, err := url.Parse(document.JWKSURL); err != nil || keys.Scheme != "https" || keys.Host == "" {
		return fmt.Errorf("reading %s: jwks_uri is not an https URL", at)
	}
	algorithms, err := algorithmsOf(document.Algorithms)
	if err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	client = &http.Client{
		Transport: &keysTransport{base: transport, clock: i.clock}, Timeout: issuerTimeout,
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), client), document.JWKSURL)
	i.verifier.Store(oidc.NewVerifier(i.URL, keySet{keys}, &oidc.Config{
		SkipClientIDCheck:    true, // check accepts one of several audiences
		SupportedSigningAlgs: algorithms,
		Now:                  i.clock.Now,
	}))
	if !i.Login.On() {
		return nil
	}
	// Tokens are verified even if the issuer has no login.
	endpoints, err := document.endpoints(transport)
	if err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	i.endpoints.Store(endpoints)
	return nil
}

// discoveryDocument of OpenID Connect Discovery 1.0, section 3.
type discoveryDocument struct {
	oidc.ProviderConfig
	// TokenAuthMethods are the methods of client authentication at the token endpoint.
	TokenAuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	// NamesIssuer: responses of the authorization endpoint have the parameter iss (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// algorithmsOf returns the algorithms of an issuer's tokens that we accept. The default is that of OpenID
// Connect Core 1.0, section 3.1.3.7.
func algorithmsOf(named []string) ([]string, error) {
	if len(named) == 0 {
		return []string{oidc.RS256}, nil
	}
	var accepted []string
	for _, name := range named {
		if slices.Contains(asymmetric, name) {
			accepted = append(accepted, name)
		}
	}
	if len(accepted) == 0 {
		return nil, fmt.Errorf("the issuer signs only with %s: configure one of %s",
			strings.Join(named, ", "), strings.Join(asymmetric, ", "))
	}
	return accepted, nil
}
func readDocument(ctx context.Context, client *http.Client, at string, document any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return json.NewDecoder(response.Body).Decode(document)
}

// transport returns a transport to the issuer that uses TLS for redirects too.
func (i *issuer) transport() (http.RoundTripper, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if i.CAFile != "" {
		roots, err := readAuthorities(i.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CAs of the issuer: %w", err)
		}
		base.TLSClientConfig.RootCAs = roots
	}
	return secureTransport{base}, nil
}

// secureTransport rejects plain HTTP and bounds the size of responses.
type secureTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t secureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s is not https", r.URL.Redacted())
	}
	response, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxDocumentBytes), response.Body}
	return response, nil
}

// keysTransport reads a URL at most once within keysFresh: the library reads the keys again for every token
// with an unknown key.
type keysTransport struct {
	base  http.RoundTripper
	clock clock.PassiveClock

	mu   sync.Mutex
	at   time.Time
	url  string
	last *http.Response // its body was read into body
	body []byte
	err  error
}

// RoundTrip implements http.RoundTripper.
func (t *keysTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); t.at.IsZero() || t.url != r.URL.String() || now.Sub(t.at) >= keysFresh {
		t.last, t.err = t.base.RoundTrip(r)
		if t.err == nil {
			t.body, t.err = io.ReadAll(t.last.Body)
			t.err = errors.Join(t.err, t.last.Body.Close())
		}
		t.at, t.url = t.clock.Now(), r.URL.String()
	}
	if t.err != nil {
		return nil, t.err
	}
	response := *t.last
	response.Body = io.NopCloser(bytes.NewReader(t.body))
	return &response, nil
}
