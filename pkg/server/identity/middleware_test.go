package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

type authenticatorFunc func(*http.Request) (Identity, error)

func (f authenticatorFunc) Authenticate(r *http.Request) (Identity, error) { return f(r) }
func TestMiddleware(t *testing.T) {
	type answer struct {
		Status                int
		Challenge, RetryAfter string
		Body                  string
	}
	for name, tc := range map[string]struct {
		err  error
		want answer
	}{
		"known": {nil, answer{Status: 200, Body: "jane"}},
		"none": {&Error{kind: ErrNone, Detail: "d", Remedy: "r"},
			answer{401, `Bearer realm="trainingjob-server"`, "", "d: r"}},
		"rejected": {rejected("r", "d"),
			answer{401, `Bearer realm="trainingjob-server", error="invalid_token"`, "", "d: r"}},
		"too many": {&Error{kind: ErrTooMany, Detail: "d", Remedy: "r", RetryAfter: 1},
			answer{429, "", "1", "d: r"}},
		"forged":      {Forged("d", "r"), answer{403, "", "", "d: r"}},
		"unavailable": {unavailable("r", "d"), answer{503, "", "5", "d: r"}},
		"something else": {errors.New("secret"), answer{503, "", "5",
			"the server cannot authenticate the caller: report this to an admin: the server's log has the " +
				"cause"}},
	} {
		a := authenticatorFunc(func(*http.Request) (Identity, error) {
			return Identity{Name: "jane"},
				tc.err
		})
		write := func(w http.ResponseWriter, _ *http.Request, status int, detail, _, remedy string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s: %s", detail, remedy)
		}
		w := httptest.NewRecorder()
		Middleware(a, write)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, _ := FromContext(r.Context())
			fmt.Fprint(w, id.Name)
		})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		got := answer{w.Code, w.Header().Get("WWW-Authenticate"), w.Header().Get("Retry-After"), w.Body.String()}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestMetricsAreClean(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := MetricDescriptions()[0].NewCounter()
	registry.MustRegister(counter)
	counter.WithLabelValues("oidc", "accepted").Inc()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
