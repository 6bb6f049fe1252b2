package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"
)

// audience that the tests' tokens are for.
const audience = "trainingjobs"

// fakeIssuer is an issuer that says what a test has it say.
type fakeIssuer struct {
	t   testing.TB
	url string
	ca  string // file

	mu         sync.Mutex
	down       bool
	issuer     string // in the discovery document
	algorithms []string
	more       map[string]any    // in the discovery document
	keys       []jose.JSONWebKey // published
	asked      int               // for its keys
}

func newFakeIssuer(t testing.TB) *fakeIssuer {
	t.Helper()
	i := &fakeIssuer{t: t, algorithms: []string{"RS256", "ES256", "EdDSA", "HS256", "none"}}
	server := httptest.NewTLSServer(i)
	t.Cleanup(server.Close)
	i.url, i.issuer = server.URL, server.URL
	i.ca = filepath.Join(t.TempDir(), "ca.crt")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(i.ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *fakeIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var document any
	switch {
	case i.down:
		http.Error(w, "down", http.StatusBadGateway)
		return
	case r.URL.Path == "/keys":
		i.asked++
		document = jose.JSONWebKeySet{Keys: i.keys}
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		all := map[string]any{
			"issuer": i.issuer, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": i.algorithms,
			"authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token",
		}
		maps.Copy(all, i.more)
		document = all
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

// read is what an API server answers that is this issuer.
func (i *fakeIssuer) read(_ context.Context, path string) ([]byte, error) {
	if path == keysPath {
		path = "/keys"
	}
	w := httptest.NewRecorder()
	i.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.Bytes(), nil
}

func (i *fakeIssuer) change(how func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	how()
}

// key makes a key for an algorithm, and publishes it.
func (i *fakeIssuer) key(id string, algorithm jose.SignatureAlgorithm) jose.JSONWebKey {
	i.t.Helper()
	var private crypto.Signer
	var err error
	switch algorithm {
	case jose.RS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	key := jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(algorithm), Use: "sig"}
	i.change(func() { i.keys = append(i.keys, key.Public()) })
	return key
}

// sign claims by a key, or by bytes of a shared secret.
func sign(t testing.TB, key any, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// claims of jane, changed; a nil removes one.
func (i *fakeIssuer) claims(now time.Time, change map[string]any) map[string]any {
	all := map[string]any{
		"iss": i.url, "aud": audience, "sub": "jane", "groups": []string{"team-b", "team-a"},
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(),
	}
	for key, value := range change {
		if all[key] = value; value == nil {
			delete(all, key)
		}
	}
	return all
}

// config of the issuer, with the prefix "corp:".
func (i *fakeIssuer) config(change func(*Issuer)) Issuer {
	c := Issuer{URL: i.url, CAFile: i.ca, Audiences: []string{audience}, Prefix: "corp:"}
	if change != nil {
		change(&c)
	}
	return c
}

// reviewFunc answers TokenReviews.
type reviewFunc func(authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error)

func (f reviewFunc) Create(
	_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	status, err := f(r.Spec)
	return &authenticationv1.TokenReview{Status: status}, err
}

// fixture is an Authentication that is started.
type fixture struct {
	*Authentication
	t     testing.TB
	clock *clocktesting.FakeClock

	mu  sync.Mutex
	log []string
}

func newFixture(t testing.TB, c Config, reviews reviewFunc, changes ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktesting.NewFakeClock(time.Now())}
	log := funcr.New(func(prefix, args string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.log = append(f.log, prefix+args)
	}, funcr.Options{Verbosity: 9})
	o := Options{
		Config: c, Reviews: reviews, ReviewCluster: "default", Clock: f.clock,
		Registry: prometheus.NewRegistry(), Log: logr.New(log.GetSink()),
	}
	for _, change := range changes {
		change(&o)
	}
	var err error
	if f.Authentication, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// discovered waits until every issuer has answered.
func (f *fixture) discovered() *fixture {
	f.t.Helper()
	eventually(f.t, "the issuers have answered", func() bool {
		for _, i := range f.issuers {
			if i.verifier.Load() == nil {
				return false
			}
		}
		return true
	})
	return f
}

// bearer authenticates a request with a token, and looks for the token where it must not be.
func (f *fixture) bearer(token string) (Identity, error) {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	id, err := f.Authenticate(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	texts := slices.Clone(f.log)
	if err != nil {
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		for part := range strings.SplitSeq(token, ".") {
			if len(part) > 20 && strings.Contains(text, part) {
				f.t.Errorf("a token is in %q", text)
			}
		}
	}
	return id, err
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// pemOf certificates.
func pemOf(certificates ...*x509.Certificate) []byte {
	var all []byte
	for _, c := range certificates {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return all
}
