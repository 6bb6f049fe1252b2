package reportserver

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
