package reportserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
)

// TestRateOfAPod: a pod has a burst, then one report a second, and does not slow down other pods.
func TestRateOfAPod(t *testing.T) {
	e := newEnvironment(t)
	other := newJob("other", "uid-other", 1)
	e.cache.put(other)
	e.add(other, 0)
	for range podBurst {
		e.expect(post(training), 200, "None")
	}
	rec := e.do(post(training))
	if rec.Code != 429 || rec.Header().Get("Retry-After") != "2" ||
		!strings.Contains(text(rec.Body), "more than once a second") {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
	r := post(`{"attempt":1,"phase":"Training"}`)
	r.token = "other-worker-0"
	e.expect(r, 200, "None")
	e.clock.Step(time.Second)
	e.expect(post(training), 200, "None")
	e.expect(post(training), 429, "more than once a second")
}

// TestRateOfBadTokens: an address that sends bad tokens must wait before the API server is asked again. A
// token that is cached as good is not affected.
func TestRateOfBadTokens(t *testing.T) {
	e := newEnvironment(t)
	e.expect(post(training), 200, "None")
	asked := e.reviews.questions()
	for i := range badTokenBurst {
		r := post(training)
		r.token = "guess-" + strconv.Itoa(i)
		e.expect(r, 401, "expired")
	}
	r := post(training)
	r.token = "one-more"
	e.expect(r, 429, "too many tokens")
	if n := e.reviews.questions() - asked; n != badTokenBurst {
		t.Errorf("the API server was asked %d times", n)
	}
	e.expect(post(training), 200, "None")
	e.clock.Step(2 * time.Second)
	e.expect(r, 401, "expired")
}

// TestConcurrentBadTokens: however many requests of an address are under way at the same time, the API
// server is asked about no more tokens than the address may guess.
func TestConcurrentBadTokens(t *testing.T) {
	e := newEnvironment(t)
	e.reviews.hold = make(chan struct{})
	const requests = 200
	codes := make(chan int, requests)
	for i := range requests {
		go func() {
			r := post(training)
			r.token = "guess-" + strconv.Itoa(i)
			codes <- e.do(r).Code
		}()
	}
	eventually(t, "all are judged, or are asked about", func() bool {
		return len(codes) == requests-badTokenBurst || e.reviews.questions() == maxReviews
	})
	close(e.reviews.hold)
	got := map[int]int{}
	for range requests {
		got[<-codes]++
	}
	if diff := cmp.Diff(map[int]int{401: badTokenBurst, 429: requests - badTokenBurst}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if n := e.reviews.questions(); n != badTokenBurst {
		t.Errorf("the API server was asked %d times", n)
	}
}

// TestGoodTokensCostNothing: an address from which many pods report, such as a node's, is not slowed down.
func TestGoodTokensCostNothing(t *testing.T) {
	e := newEnvironment(t)
	for i := range 3 * badTokenBurst {
		job := newJob("job-"+strconv.Itoa(i), types.UID("uid-"+strconv.Itoa(i)), 1)
		e.cache.put(job)
		r := post(`{"attempt":1,"phase":"Training"}`)
		r.token = e.add(job, 0).Name
		e.expect(r, 200, "None")
	}
}

// TestHangingUpCostsTheSame: a bad token is reviewed although its sender did not wait for the answer.
func TestHangingUpCostsTheSame(t *testing.T) {
	e := newEnvironment(t)
	e.reviews.hold = make(chan struct{})
	for i := range 2 * badTokenBurst {
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+Path,
			strings.NewReader(training))
		req.Header = http.Header{"Content-Type": {"application/json"},
			"Authorization": {"Bearer guess-" + strconv.Itoa(i)}}
		e.server.ServeHTTP(httptest.NewRecorder(), req)
	}
	close(e.reviews.hold)
	r := post(training)
	r.token = "one-more"
	e.expect(r, 429, "too many tokens")
	if n := e.reviews.questions(); n > badTokenBurst {
		t.Errorf("the API server was asked %d times", n)
	}
}

// TestReviewsHaveARateOfTheirOwn: the reconciler's client has none, and keeps none.
func TestReviewsHaveARateOfTheirOwn(t *testing.T) {
	shared := &rest.Config{Host: "https://api.example.com", QPS: -1}
	reviews, err := authenticationclient.NewForConfigAndClient(reviewConfig(shared), http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if limit := reviews.RESTClient().GetRateLimiter(); limit == nil || limit.QPS() != reviewsPerSecond {
		t.Errorf("reviews are limited by %v", limit)
	}
	if shared.QPS != -1 {
		t.Error("the manager's own client is changed")
	}
}

// TestReviewsAreCached for a bounded time, accepted or rejected. Without an answer of the API server
// nothing is cached.
func TestReviewsAreCached(t *testing.T) {
	e := newEnvironment(t)
	bad := post(training)
	bad.token = "bad"
	var asked []int
	for _, step := range []struct {
		r    request
		code int
		wait time.Duration
	}{
		{post(training), 200, 0}, {post(training), 200, acceptedFor - time.Second},
		{post(training), 200, 2 * time.Second}, {post(training), 200, 0},
		{bad, 401, 0}, {bad, 401, rejectedFor - time.Second}, {bad, 401, 2 * time.Second}, {bad, 401, 0},
	} {
		e.expect(step.r, step.code, "")
		asked = append(asked, e.reviews.questions())
		e.clock.Step(step.wait)
	}
	if diff := cmp.Diff([]int{1, 1, 1, 2, 3, 3, 3, 4}, asked); diff != "" {
		t.Errorf("questions to the API server (-want +got):\n%s", diff)
	}
	e.clock.Step(acceptedFor + time.Second)
	e.reviews.broken = errors.New("away")
	e.expect(post(training), 503, "report again")
	e.reviews.broken = nil
	e.expect(post(training), 200, "None")
}

// TestConcurrentRequestsShareAReview: a token that arrives twice at the same time is reviewed once.
func TestConcurrentRequestsShareAReview(t *testing.T) {
	e := newEnvironment(t)
	e.reviews.hold = make(chan struct{})
	codes := make(chan int, maxInFlightPerPod)
	for range maxInFlightPerPod {
		go func() { codes <- e.do(post(training)).Code }()
	}
	eventually(t, "the API server is asked", func() bool { return e.reviews.questions() == 1 })
	close(e.reviews.hold)
	for range maxInFlightPerPod {
		if code := <-codes; code != 200 {
			t.Errorf("got %d", code)
		}
	}
	if n := e.reviews.questions(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
