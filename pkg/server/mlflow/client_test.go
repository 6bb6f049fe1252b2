package mlflow

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

func newTestClient(t *testing.T, c Config) *client {
	t.Helper()
	if c.RequestsPerSecond == 0 {
		c.RequestsPerSecond = 1000
	}
	made, err := newClient(c, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestAnswers: errors of every job differ from errors of one, and no redirect is followed.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		away   bool
		says   string
	}{
		"a redirect to another host": {http.StatusFound, true, "set the target in mlflow.url"},
		"a permanent one":            {http.StatusPermanentRedirect, true, "it redirects"},
		"wrong credentials":          {http.StatusUnauthorized, true, "rejects the credentials"},
		"no right":                   {http.StatusForbidden, false, "grant the server's user"},
		"too many requests":          {http.StatusTooManyRequests, true, "HTTP 429"},
		"a proxy without its server": {http.StatusBadGateway, true, "HTTP 502"},
		"no MLflow":                  {http.StatusNotFound, true, "not a server of MLflow's API"},
		"an error of the server's":   {http.StatusInternalServerError, false, "HTTP 500"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.before = func(string, int) int { return tc.status }
			_, err := newTestClient(t, Config{URL: f.URL}).experimentID(t.Context(), "team-a")
			var away *awayError
			if errors.As(err, &away) != tc.away || !strings.Contains(err.Error(), tc.says) || f.requests != 1 {
				t.Errorf("%d requests: %v", f.requests, err)
			}
		})
	}
	response := &http.Response{StatusCode: http.StatusForbidden}
	host := errorOf(response, []byte("Invalid Host header - possible DNS rebinding attack detected"))
	if away := (*awayError)(nil); !errors.As(host, &away) || !strings.Contains(host.Error(), "--allowed-hosts") {
		t.Errorf("a host that MLflow does not expect: %v", host)
	}
	f := newFake(t)
	f.Close()
	_, err := newTestClient(t, Config{URL: f.URL}).experimentID(t.Context(), "team-a")
	if away := (*awayError)(nil); !errors.As(err, &away) {
		t.Errorf("no listener: %v", err)
	}
}

// TestRetryAfter is heeded, within bounds.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "86400": longestDelay, "-1": 0, "Wed, 25 Nov 2026 12:00:00 GMT": 0, "": 0,
	} {
		response := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {text}}}
		var away *awayError
		if err := errorOf(response, nil); !errors.As(err, &away) || away.retryAfter != want {
			t.Errorf("%q: %+v", text, err)
		}
	}
	if got := next(0, &awayError{cause: errors.New("x"), retryAfter: 30 * time.Second}); got != 30*time.Second {
		t.Errorf("the delay is %s", got)
	}
	delay := time.Duration(0)
	for range 20 {
		delay = next(delay, errors.New("x"))
	}
	if delay != longestDelay {
		t.Errorf("the longest delay is %s", delay)
	}
}

// TestCredentials are read again for every request, and are in no error.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newFake(t)
	token := newTestClient(t, Config{URL: f.URL, TokenFile: filepath.Join(dir, "token")})
	basic := newTestClient(t, Config{URL: f.URL, BasicAuthDir: dir})
	ask := func(c *client) error {
		_, err := c.experimentID(t.Context(), "team-a")
		return err
	}
	var away *awayError
	if err := ask(token); !errors.As(err, &away) || f.requests != 0 {
		t.Errorf("there is no file: %v, %d requests", err, f.requests)
	}
	write("token", "first\n")
	write("username", "server")
	write("password", "hush")
	for _, c := range []*client{token, basic} {
		if err := ask(c); err != nil {
			t.Fatal(err)
		}
	}
	write("token", "second")
	if err := ask(token); err != nil {
		t.Fatal(err)
	}
	n := len(f.authorized)
	if got := f.authorized[n-2:]; got[0] != "Basic c2VydmVyOmh1c2g=" || got[1] != "Bearer second" {
		t.Errorf("the last two requests carry %q", got)
	}
	for text, says := range map[string]string{
		"": "is empty", "a\nb-secret": "more than one line", strings.Repeat("s", maxCredential+1): "64 KiB",
	} {
		write("token", text)
		err := ask(token)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}

// TestValidate: what is wrong is named with its key and a remedy, and no credentials are repeated.
func TestValidate(t *testing.T) {
	on := func(edit func(*Config)) Config {
		c := DefaultConfig()
		c.URL = "https://mlflow.example.com/tracking"
		edit(&c)
		return c
	}
	for name, tc := range map[string]struct {
		config Config
		says   string
	}{
		"off":          {DefaultConfig(), ""},
		"on":           {on(func(*Config) {}), ""},
		"a token":      {on(func(c *Config) { c.TokenFile = "/etc/mlflow/token" }), ""},
		"an authority": {on(func(c *Config) { c.CAFile = "/etc/mlflow/ca.crt" }), ""},
		"a prefix":     {on(func(c *Config) { c.ParameterPrefix = "job." }), ""},
		"credentials at home": {on(func(c *Config) { c.URL, c.TokenFile = "http://127.0.0.1:5000", "/a" }),
			""},
		"credentials for all": {
			on(func(c *Config) { c.URL, c.TokenFile = "http://mlflow:5000", "/a" }), "plain HTTP",
		},
		"for all, as one wants": {on(func(c *Config) {
			c.URL, c.TokenFile, c.Insecure = "http://mlflow:5000", "/a", true
		}), ""},
		"no scheme":         {on(func(c *Config) { c.URL = "mlflow:5000" }), "mlflow.url: Invalid value"},
		"no host":           {on(func(c *Config) { c.URL = "http://" }), "must have a host"},
		"credentials in it": {on(func(c *Config) { c.URL = "https://me:hush@mlflow" }), "use tokenFile"},
		"a query": {on(func(c *Config) { c.URL = "https://mlflow?a=b" }),
			"must not have a query"},
		"a file without server": {Config{TokenFile: "/a", RequestsPerSecond: 1}, "mlflow.tokenFile"},
		"a relative file":       {on(func(c *Config) { c.CAFile = "ca.crt" }), "mlflow.caFile"},
		"two kinds": {
			on(func(c *Config) { c.TokenFile, c.BasicAuthDir = "/a", "/b" }), "remove tokenFile",
		},
		"an odd prefix": {on(func(c *Config) { c.ParameterPrefix = "a@" }), "mlflow.parameterPrefix"},
		"no requests":   {on(func(c *Config) { c.RequestsPerSecond = 0 }), "mlflow.requestsPerSecond"},
	} {
		err := tc.config.Validate(field.NewPath("mlflow")).ToAggregate()
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: want %q, got %v", name, tc.says, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
