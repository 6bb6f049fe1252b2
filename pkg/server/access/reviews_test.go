package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// fakeReviews allows the configured rights, by user and namespace.
type fakeReviews struct {
	mu      sync.Mutex
	allowed map[string]bool
	err     error
	asked   int
	atOnce  int
	// wait, where there is one, holds every review up until it is closed.
	wait chan struct{}
}

func (f *fakeReviews) Create(
	_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	f.mu.Lock()
	f.asked++
	f.atOnce++
	f.mu.Unlock()
	if f.wait != nil {
		<-f.wait
	}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.atOnce--
	}()
	r.Status.Allowed = f.allowed[r.Spec.User+"/"+r.Spec.ResourceAttributes.Namespace]
	return r, f.err
}

func newFakeClusters(f *fakeReviews) (*Clusters, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Now())
	return &Clusters{names: []string{"default"}, clock: clock, byName: map[string]*cluster{
		"default": {name: "default", reviews: newReviews("default", f, clock, newMetrics())},
	}}, clock
}

var jane = identity.Identity{Name: "corp:jane", Source: identity.SourceOIDC}

// TestMayIsAskedOnce within some seconds, by each caller for itself.
func TestMayIsAskedOnce(t *testing.T) {
	f := &fakeReviews{allowed: map[string]bool{"corp:jane/team-a": true}}
	c, clock := newFakeClusters(f)
	get := authorizationv1.ResourceAttributes{Verb: "get", Namespace: "team-a", Name: "bert"}
	may := func(id identity.Identity, want bool, asked int) {
		t.Helper()
		got, err := c.May(t.Context(), "default", id, get)
		if err != nil || got != want || f.asked != asked {
			t.Errorf("%s may: %v, %v, asked %d times; want %v, %d", id.Name, got, err, f.asked, want, asked)
		}
	}
	may(jane, true, 1)
	may(jane, true, 1)
	may(identity.Identity{Name: "corp:joe", Source: identity.SourceOIDC}, false, 2)
	get.Name = "other"
	may(jane, true, 3)
	f.allowed = nil
	may(jane, true, 3)
	clock.Step(reviewsFresh + time.Millisecond)
	may(jane, false, 4)
}

func TestMayIsNotKnown(t *testing.T) {
	f := &fakeReviews{err: errors.New("connection refused")}
	c, _ := newFakeClusters(f)
	do := authorizationv1.ResourceAttributes{Verb: "get"}
	may, err := c.May(t.Context(), "default", jane, do)
	if err == nil || may || errors.Is(err, ErrInsufficient) {
		t.Errorf("the cluster is away: %v, %v", may, err)
	}
	f.err = apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", errors.New("no"))
	if may, err := c.May(t.Context(), "default", jane, do); !errors.Is(err, ErrInsufficient) || may {
		t.Errorf("the server may not ask: %v, %v", may, err)
	}
	if _, err := c.May(t.Context(), "nowhere", jane, do); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("another cluster: %v", err)
	}
	root := identity.Identity{Name: "system:admin", Source: identity.SourceTokenReview, Cluster: "default"}
	if _, err := c.May(t.Context(), "default", root, do); !errors.Is(err, ErrRefused) {
		t.Errorf("system:admin: %v", err)
	}
	f.err, f.allowed = nil, map[string]bool{"corp:jane/": true}
	if may, err := c.May(t.Context(), "default", jane, do); err != nil || !may {
		t.Errorf("a failure was remembered: %v, %v", may, err)
	}
}

func TestVisible(t *testing.T) {
	var namespaces, every []string
	allowed := map[string]bool{}
	for n := range 100 {
		namespaces = append(namespaces, fmt.Sprintf("ns-%d", n))
		if n%7 == 0 {
			allowed["corp:jane/"+namespaces[n]] = true
			every = append(every, namespaces[n])
		}
	}
	f := &fakeReviews{allowed: allowed}
	c, clock := newFakeClusters(f)
	all, visible, err := c.Visible(t.Context(), "default", jane, "list", namespaces)
	if diff := cmp.Diff(every, visible); diff != "" || all || err != nil {
		t.Errorf("%v, %v\n%s", all, err, diff)
	}
	clock.Step(reviewsFresh + time.Millisecond)
	f.allowed, f.asked = map[string]bool{"corp:jane/": true}, 0
	if all, visible, err = c.Visible(t.Context(), "default", jane, "list", namespaces); !all || visible != nil ||
		err != nil || f.asked != 1 {
		t.Errorf("who may everywhere: %v, %v, %v, asked %d times", all, visible, err, f.asked)
	}
	clock.Step(reviewsFresh + time.Millisecond)
	f.err = errors.New("connection refused")
	if all, visible, err = c.Visible(t.Context(), "default", jane, "list", namespaces); err == nil || all ||
		visible != nil {
		t.Errorf("the cluster is away: %v, %v, %v", all, visible, err)
	}
}

// TestVisibleIsBounded: a request about too many namespaces causes no review of each, and says what to do.
func TestVisibleIsBounded(t *testing.T) {
	namespaces := make([]string, maxNamespaces+1)
	for n := range namespaces {
		namespaces[n] = fmt.Sprint("ns-", n)
	}
	f := &fakeReviews{allowed: map[string]bool{"corp:jane/ns-7": true, "corp:root/": true}}
	c, _ := newFakeClusters(f)
	all, visible, err := c.Visible(t.Context(), "default", jane, "list", namespaces)
	if own := (*Error)(nil); !errors.As(err, &own) || !errors.Is(err, ErrTooMany) ||
		own.Status() != http.StatusForbidden || !strings.Contains(own.Remedy, "one namespace") {
		t.Errorf("%v, %v, %v", all, visible, err)
	}
	if f.asked != 1 {
		t.Errorf("%d reviews", f.asked)
	}
	if _, visible, err = c.Visible(t.Context(), "default", jane, "list", namespaces[7:8]); err != nil ||
		len(visible) != 1 {
		t.Errorf("one namespace: %v, %v", visible, err)
	}
	root := identity.Identity{Name: "corp:root", Source: identity.SourceOIDC}
	if all, _, err = c.Visible(t.Context(), "default", root, "list", namespaces); err != nil || !all {
		t.Errorf("who may everywhere: %v, %v", all, err)
	}
}

// TestVisibleAsksFewAtATime: one page of one user leaves reviews for others.
func TestVisibleAsksFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeReviews{}
		c, _ := newFakeClusters(f)
		do := authorizationv1.ResourceAttributes{
			Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: resourceTrainingJobs,
		}
		if _, err := c.May(t.Context(), "default", jane, do); err != nil { // everywhere: no
			t.Fatal(err)
		}
		f.wait = make(chan struct{})
		ended := make(chan error)
		go func() {
			many := strings.Fields(strings.Repeat("a b c d ", 25))
			_, _, err := c.Visible(t.Context(), "default", jane, "list", many)
			ended <- err
		}()
		synctest.Wait()
		if f.atOnce != 4 {
			t.Errorf("%d reviews for four namespaces", f.atOnce)
		}
		close(f.wait)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var many []string
		for n := range 100 {
			many = append(many, fmt.Sprint(n))
		}
		f.wait = make(chan struct{})
		go func() {
			_, _, err := c.Visible(t.Context(), "default", jane, "list", many)
			ended <- err
		}()
		synctest.Wait()
		if f.atOnce != atOnce {
			t.Errorf("%d reviews at a time, want %d", f.atOnce, atOnce)
		}
		close(f.wait)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestOwnRights: what is forbidden to the server is reported as that, and what is forbidden to the caller is
// not touched.
func TestOwnRights(t *testing.T) {
	status := func(message string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"` +
			strings.ReplaceAll(message, `"`, `\"`) + `"}`
	}
	for name, tc := range map[string]struct {
		code int
		body string
		own  bool
	}{
		"the caller":  {403, status(`jobs is forbidden: User "corp:jane" cannot list resource "jobs"`), false},
		"the verb":    {403, status(`User "s" cannot impersonate-on:user-info:get resource "pods"`), true},
		"the user":    {403, status(`User "s" cannot impersonate:user-info resource "users"`), true},
		"the old way": {403, status(`User "s" cannot impersonate resource "users"`), true},
		"a caller who is called so": {403,
			status(`User "x\\" cannot impersonate" cannot list resource "jobs"`), false},
		"no JSON":    {403, "<html>", false},
		"a conflict": {409, status(`User "s" cannot impersonate`), false},
		"success":    {200, "{}", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tc.code)
			_, _ = io.WriteString(w, tc.body)
		}))
		client := &http.Client{Transport: ownRights{http.DefaultTransport}}
		response, err := client.Get(server.URL)
		if errors.Is(err, ErrInsufficient) != tc.own {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			body, _ := io.ReadAll(response.Body)
			if string(body) != tc.body {
				t.Errorf("%s: the caller reads %q", name, body)
			}
			response.Body.Close()
		}
		server.Close()
	}
}

func TestMetricsAreClean(t *testing.T) {
	registry, m := prometheus.NewRegistry(), newMetrics()
	if err := m.register(registry); err != nil {
		t.Fatal(err)
	}
	m.acting.WithLabelValues("default").Set(1)
	m.reviews.WithLabelValues("default", "allowed").Inc()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
