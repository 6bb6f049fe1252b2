package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certutil "k8s.io/client-go/util/cert"
)

// authority is a CA.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "ca"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

// issue a client certificate, changed.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "gateway"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestProxies sends X-User over real TLS connections.
func TestProxies(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pemOf(ours.cert), 0o600); err != nil {
		t.Fatal(err)
	}
	good := ours.issue(t, nil)
	jane := http.Header{headerUser: {"jane"}}
	type row struct {
		reason      string
		proxies     Proxies
		certificate *tls.Certificate
		headers     http.Header
		want        Identity
		says        string
	}
	with := func(c tls.Certificate) *tls.Certificate { return &c }
	named := Proxies{Names: []string{"gateway"}}
	grouped := Proxies{Names: []string{"gateway"}, Groups: true}
	for name, tc := range map[string]row{
		"a proxy": {"its word counts", named, &good, jane, Identity{Name: "jane", Source: SourceProxy}, ""},
		"by DNS name": {"such as a service mesh issues", named, with(ours.issue(t, func(c *x509.Certificate) {
			c.Subject.CommonName, c.DNSNames = "", []string{"gateway"}
		})), jane, Identity{Name: "jane", Source: SourceProxy}, ""},
		"with a prefix": {"as configured", Proxies{Names: []string{"gateway"}, Prefix: "sso:", Groups: true}, &good,
			http.Header{headerUser: {"jane"}, headerGroups: {"b", "a"}},
			Identity{Name: "sso:jane", Groups: []string{"sso:a", "sso:b"}, Source: SourceProxy}, ""},
		"groups": {"as configured", grouped, &good, http.Header{headerUser: {"jane"}, headerGroups: {"cn=a,dc=b"}},
			Identity{Name: "jane", Groups: []string{"cn=a,dc=b"}, Source: SourceProxy}, ""},
		"groups that are not configured": {"the proxy's client can have sent them", named, &good,
			http.Header{headerUser: {"jane"}, headerGroups: {"admins"}}, Identity{},
			"X-Groups is not accepted"},
		"no certificate": {"any client can write a header", named, nil, jane, Identity{},
			"only from proxies"},
		"another CA": {"another CA can sign any name", named, with(theirs.issue(t, nil)), jane, Identity{},
			"only from proxies"},
		"another name": {"the CA signs others too", named, with(ours.issue(t, func(c *x509.Certificate) {
			c.Subject.CommonName = "printer"
		})), jane, Identity{}, "only from proxies"},
		"expired": {"it may be stolen", named, with(ours.issue(t, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		})), jane, Identity{}, "only from proxies"},
		"a server's": {"it proves no client", named, with(ours.issue(t, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		})), jane, Identity{}, "only from proxies"},
		"two users": {"one of them is the client's", named, &good, http.Header{headerUser: {"jane", "root"}},
			Identity{}, "2 headers"},
		"an empty one": {"no user", named, &good, http.Header{headerUser: {""}}, Identity{}, "is empty"},
		"groups alone": {"no user", grouped, &good, http.Header{headerGroups: {"a"}}, Identity{},
			"0 headers"},
		"system": {"Kubernetes' own", named, &good, http.Header{headerUser: {"system:admin"}}, Identity{},
			"begins with system:"},
		"masters": {"Kubernetes' own", grouped, &good,
			http.Header{headerUser: {"jane"}, headerGroups: {"system:masters"}}, Identity{}, "begins with system:"},
		"a token too": {"who is it?", named, &good,
			http.Header{headerUser: {"jane"}, "Authorization": {"Bearer x"}}, Identity{},
			"both have credentials"},
		"nothing": {"the certificate names no user", named, &good, nil,
			Identity{}, "has no credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.proxies.ClientCAFile = file
			f := newFixture(t, Config{Proxies: tc.proxies}, nil)
			got, err := overTLS(t, f.Authentication, tc.certificate, tc.headers)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("got %+v, %v, want %q: %s", got, err, tc.says, tc.reason)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", tc.reason, err, diff)
			}
		})
	}
	t.Run("without proxies", func(t *testing.T) {
		f := newFixture(t, Config{}, nil)
		if _, err := overTLS(t, f.Authentication, &good, jane); !errors.Is(err, ErrRejected) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a CA that was removed", func(t *testing.T) {
		named.ClientCAFile = file
		f := newFixture(t, Config{Proxies: named}, nil)
		if err := os.WriteFile(file, pemOf(theirs.cert), 0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, "its proxies are trusted no more", func() bool {
			f.clock.Step(rereadAfter)
			_, err := overTLS(t, f.Authentication, &good, jane)
			return errors.Is(err, ErrRejected)
		})
	})
}

// overTLS authenticates one request over a connection with a client certificate, or without one.
func overTLS(
	t *testing.T, a *Authentication, certificate *tls.Certificate, headers http.Header,
) (id Identity, err error) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, err = a.Authenticate(r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	if certificate != nil {
		client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	}
	r, problem := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if problem != nil {
		t.Fatal(problem)
	}
	r.Header = headers
	response, problem := client.Do(r)
	if problem != nil {
		t.Fatal(problem)
	}
	response.Body.Close()
	return id, err
}
