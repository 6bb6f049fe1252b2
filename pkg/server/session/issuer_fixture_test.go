package session

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

const (
	clientID     = "board"
	clientSecret = "a secret: of the client's"
)

// fakeIssuer is an issuer at which jane is logged in already: it answers every browser at once. It holds the
// client to its registration, as a real one does, except for what a test changes.
type fakeIssuer struct {
	t     testing.TB
	clock clock.PassiveClock
	url   string
	ca    string // file
	key   jose.JSONWebKey

	mu     sync.Mutex
	down   bool
	more   map[string]any    // in the discovery document
	answer url.Values        // instead of a code, to the browser
	claims map[string]any    // changes of the ID token's
	signer *fakeIssuer       // whose key signs instead
	codes  map[string]values // that were issued
	asked  []url.Values      // at the token endpoint
}

type values = url.Values

func newFakeIssuer(t testing.TB, c clock.PassiveClock) *fakeIssuer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &fakeIssuer{
		t: t, clock: c, codes: map[string]values{},
		key: jose.JSONWebKey{Key: private, KeyID: "k", Algorithm: string(jose.ES256), Use: "sig"},
	}
	server := httptest.NewTLSServer(i)
	t.Cleanup(server.Close)
	i.url, i.ca = server.URL, filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(i.ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *fakeIssuer) change(how func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	how()
}

// config of the issuer.
func (i *fakeIssuer) config(prefix string) identity.Issuer {
	i.t.Helper()
	secret := filepath.Join(i.t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return identity.Issuer{
		URL: i.url, CAFile: i.ca, Audiences: []string{"api"}, Prefix: prefix,
		RequiredClaims: map[string]string{"tenant": "ours"},
		Login:          identity.Login{ClientID: clientID, ClientSecretFile: secret, Scopes: []string{"groups"}},
	}
}

func (i *fakeIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down:
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		document := map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url + "/authorize?tenant=ours",
			"token_endpoint": i.url + "/token", "id_token_signing_alg_values_supported": []string{"ES256"},
		}
		maps.Copy(document, i.more)
		answerJSON(w, http.StatusOK, document)
	case r.URL.Path == "/keys":
		answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
	case r.URL.Path == "/authorize":
		i.authorize(w, r)
	case r.URL.Path == "/token" && r.Method == http.MethodPost:
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// authorize sends the browser back with a code.
func (i *fakeIssuer) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	for key, want := range map[string]string{
		"response_type": "code", "client_id": clientID, "scope": "openid groups", "code_challenge_method": "S256",
		"tenant": "ours",
	} {
		if got := asked.Get(key); got != want {
			i.t.Errorf("the browser brings %s=%q, want %q", key, got, want)
		}
	}
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || back.Path != CallbackPath {
		i.t.Errorf("redirect_uri %q", asked.Get("redirect_uri"))
	}
	answer := url.Values{"state": {asked.Get("state")}}
	if i.answer == nil {
		code := rand.Text()
		i.codes[code] = asked
		answer.Set("code", code)
	}
	maps.Copy(answer, i.answer)
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token for a code: for this client, once, and with what the challenge is of.
func (i *fakeIssuer) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		i.t.Error(err)
	}
	i.asked = append(i.asked, r.PostForm)
	user, password, _ := r.BasicAuth()
	if user != url.QueryEscape(clientID) || password != url.QueryEscape(clientSecret) {
		answerJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	asked, ok := i.codes[r.PostForm.Get("code")]
	delete(i.codes, r.PostForm.Get("code"))
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") ||
		r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": i.url, "aud": clientID, "sub": "jane", "groups": []string{"ml"}, "tenant": "ours",
		"nonce": asked.Get("nonce"), "exp": i.clock.Now().Add(5 * time.Minute).Unix(), "iat": i.clock.Now().Unix(),
	}
	maps.Copy(claims, i.claims)
	by := i
	if i.signer != nil {
		by = i.signer
	}
	answerJSON(w, http.StatusOK, map[string]any{
		"access_token": "opaque", "token_type": "Bearer", "id_token": by.sign(claims),
	})
}

func (i *fakeIssuer) sign(claims map[string]any) string {
	i.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}
