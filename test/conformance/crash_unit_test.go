package conformance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What reaches the API server, and when the operator dies.
func TestCrashTransport(t *testing.T) {
	requests := []string{
		"GET /pods", "POST /pods", "POST /events", "PATCH /jobs", "DELETE /pods", "PUT /leases/l", "GET /pods",
	}
	cases := map[string]struct {
		crash   Crash
		arrives []string
		deaths  int
	}{
		"it lives": {Crash{}, requests, 0},
		"before its second write": {
			Crash{Moment: Before, Write: 2}, []string{"GET /pods", "POST /pods", "POST /events"}, 1,
		},
		"after its second write": {
			Crash{Moment: After, Write: 2}, []string{"GET /pods", "POST /pods", "POST /events", "PATCH /jobs"}, 1,
		},
		"before its first deletion": {
			Crash{Before, 1, "DELETE /pods"}, []string{"GET /pods", "POST /pods", "POST /events", "PATCH /jobs"}, 1,
		},
		"a write that it never makes":           {Crash{Moment: After, Write: 9}, requests, 0},
		"a write of a kind that it never makes": {Crash{After, 2, "DELETE /pods"}, requests, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var arrived []string
			deaths := 0
			m := NewCrashTransport(tc.crash, func() { deaths++ })
			transport := m.Wrap(roundTripper(func(req *http.Request) (*http.Response, error) {
				arrived = append(arrived, req.Method+" "+req.URL.Path)
				return &http.Response{Body: http.NoBody}, nil
			}))
			for _, line := range requests {
				method, path, _ := strings.Cut(line, " ")
				req, err := http.NewRequest(method, "http://server"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := transport.RoundTrip(req)
				if err == nil {
					resp.Body.Close()
				}
				if err != nil && !errors.Is(err, ErrDead) {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(tc.arrives, arrived); diff != "" {
				t.Errorf("what arrives (-want +got):\n%s", diff)
			}
			if deaths != tc.deaths || m.Dead() != (deaths > 0) {
				t.Errorf("died %d times, want %d; dead is %t", deaths, tc.deaths, m.Dead())
			}
		})
	}
}

func TestWhatIsWritten(t *testing.T) {
	const (
		jobs = "/apis/mlplatform.example.com/v1alpha1/namespaces/ns-7/trainingjobs"
		pods = "/api/v1/namespaces/ns-7/pods"
	)
	for name, tc := range map[string]struct{ method, path, body, want string }{
		"a transition": {"PATCH", jobs + "/low/status", `{"status":{"phase":"Draining","gang":"0/3"}}`,
			"PATCH trainingjobs/low/status Draining"},
		"the same phase": {"PATCH", jobs + "/low/status", `{"status":{"gang":"0/3"}}`,
			"PATCH trainingjobs/low/status"},
		"a pod":            {"POST", pods, "k8s\x00...", "POST pods"},
		"the end of a pod": {"DELETE", pods + "/low-worker-0", "", "DELETE pods"},
		"what is no JSON":  {"PATCH", jobs + "/low/status", "status: {}", "PATCH trainingjobs/low/status"},
		"a group's own word": {"PATCH", "/apis/g/v1/namespaces/ns-7/groups/low-7/status", "{}",
			"PATCH groups/status"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(tc.method, "http://server"+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := KindOf(describeWrite(req)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCrashes(t *testing.T) {
	all := AllCrashes(2)
	if diff := cmp.Diff([]Crash{{Moment: Before, Write: 1}, {Moment: After, Write: 1},
		{Moment: Before, Write: 2}, {Moment: After, Write: 2}}, all); diff != "" {
		t.Error(diff)
	}
	each := EachCrash([]string{"POST /a", "POST /b", "POST /a"})
	want := []Crash{{Before, 1, "POST /a"}, {After, 1, "POST /a"}, {Before, 1, "POST /b"},
		{After, 1, "POST /b"}, {Before, 2, "POST /a"}, {After, 2, "POST /a"}}
	if diff := cmp.Diff(want, each); diff != "" {
		t.Error(diff)
	}
	some := SomeCrashes("a", 20, 3)
	if diff := cmp.Diff(some, SomeCrashes("a", 20, 3)); diff != "" {
		t.Errorf("not the same at the second time:\n%s", diff)
	}
	sum := 0
	for _, c := range append(some, SomeCrashes("b", 1, 3)...) {
		if c.Write < 1 {
			t.Errorf("%v is no write", c)
		}
	}
	for _, c := range some {
		sum += c.Write
	}
	if len(some) != 3 || sum > 20 {
		t.Errorf("%v are not three lives within 20 writes", some)
	}
}
