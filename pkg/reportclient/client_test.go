package reportclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// otherCA is a CA in PEM that has signed nothing here.
func otherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "other"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf(ca)
}

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func clientOf(s *httptest.Server) *Client {
	return &Client{URL: s.URL, UserAgent: "test", Token: token("token", nil),
		CA: authority(pemOf(s.Certificate()))}
}

func token(text string, err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, err }
}

func authority(pem string) func() (string, error) { return func() (string, error) { return pem, nil } }

var least = checkpoint.Report{Attempt: 1, Phase: checkpoint.PhaseTraining}

func TestErrorsNameTheirCause(t *testing.T) {
	reply := func(code int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(header) == 2 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	other, redirected := otherCA(t), false
	trap := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		redirected = true
	}))
	defer trap.Close()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		change  func(*Client)
		want    string
	}{
		"redirect":    {reply(307, "", "Location", trap.URL), nil, "never followed"},
		"forbidden":   {reply(403, "not rank 0"), nil, "403 Forbidden: not rank 0 (the token is expired"},
		"unavailable": {reply(503, "no leader"), nil, "503 Service Unavailable: no leader"},
		"long error":  {reply(500, strings.Repeat("x\n", 1<<20)), nil, "500"},
		"not JSON":    {reply(200, "<html>"), nil, "answer is not JSON"},
		"too long": {reply(200, `{"command":"None","id":"`+strings.Repeat("a", 1<<20)+`"}`), nil,
			"more than 4096 bytes"},
		"unknown":  {reply(200, `{"command":"Explode","id":"1"}`), nil, "use one of None, Checkpoint"},
		"more":     {reply(200, `{"command":"None","cmd":"x"}`), nil, "cmd is unknown"},
		"other CA": {reply(200, ""), func(c *Client) { c.CA = authority(other) }, "not signed by our CA"},
		"other name": {reply(200, ""),
			func(c *Client) { c.URL = strings.Replace(c.URL, "127.0.0.1", "localhost", 1) }, "another name"},
		"no CA": {reply(200, ""), func(c *Client) { c.CA = authority("x") }, "holds no certificate"},
		"no token": {reply(200, ""), func(c *Client) { c.Token = token("", errors.New("no such file")) },
			"reading the token: no such file"},
		"strange token": {reply(200, ""), func(c *Client) { c.Token = token("a\r\nX-Evil: 1", nil) },
			"holds no token"},
		"gone":         {reply(200, ""), func(c *Client) { c.URL = "https://127.0.0.1:1/" }, "cannot be reached"},
		"no such name": {reply(200, ""), func(c *Client) { c.URL = "https://report.invalid/" }, "cannot be found"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewTLSServer(tc.handler)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			defer s.Close()
			c := clientOf(s)
			if tc.change != nil {
				tc.change(c)
			}
			_, err := c.Post(t.Context(), least)
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 600 {
				t.Errorf("want %q, got %v", tc.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "Bearer") {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
	if redirected {
		t.Error("a redirect was followed")
	}
	t.Run("silence", func(t *testing.T) {
		hold := make(chan struct{})
		s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
		defer s.Close()
		defer close(hold)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := clientOf(s).Post(ctx, least); err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTokensAndCAsRotate(t *testing.T) {
	other := otherCA(t)
	var tokens []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		answering(checkpoint.Answer{Command: checkpoint.CommandNone})(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	c := clientOf(s)
	good, _ := c.CA()
	c.CA = authority(other)
	if _, err := c.Post(t.Context(), least); err == nil {
		t.Fatal("another CA was trusted")
	}
	c.CA, c.Token = authority(other+good), token("newer", nil)
	if _, err := c.Post(t.Context(), least); err != nil || len(tokens) != 1 || tokens[0] != "Bearer newer" {
		t.Errorf("%v, %v", err, tokens)
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"200": 200 * time.Second, "9999999": maxRetryAfter,
		"-1": 0, "soon": 0, "": 0} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := clientOf(s).Post(t.Context(), least)
		s.Close()
		if got := RetryAfter(err); err == nil || got != want {
			t.Errorf("Retry-After %q: wait %s, want %s: %v", header, got, want, err)
		}
	}
}

// TestEveryAddressIsTried: the host stands for two replicas, and the resolver always returns the one
// first that does not lead.
func TestEveryAddressIsTried(t *testing.T) {
	leader := httptest.NewTLSServer(answering(checkpoint.Answer{Command: checkpoint.CommandNone}))
	defer leader.Close()
	_, port, _ := net.SplitHostPort(leader.Listener.Addr().String())
	standby := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	standby.Listener.Close()
	var err error
	if standby.Listener, err = net.Listen("tcp", "127.0.0.2:"+port); err != nil {
		t.Fatal(err)
	}
	standby.StartTLS()
	defer standby.Close()
	c := clientOf(leader)
	c.URL = "https://example.com:" + port // the name in its certificate
	c.lookup = func(context.Context, string) ([]string, error) {
		return []string{"127.0.0.3", "127.0.0.2", "127.0.0.1"}, nil
	}
	for try := 1; ; try++ {
		if _, err := c.Post(t.Context(), least); err == nil {
			break
		} else if !strings.Contains(err.Error(), "503") || try == 100 {
			t.Fatalf("try %d: %v", try, err)
		}
	}
}

func answering(a checkpoint.Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, _ := checkpoint.Encode(a)
		w.Write(data)
	}
}
