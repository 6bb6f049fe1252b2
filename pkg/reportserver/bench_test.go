package reportserver

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// BenchmarkReports measures the whole handler on one core: rank 0 of each of 1,000 jobs reports its step,
// eight metrics and a commit that the status has. Tokens are cached, and pods and jobs are copied out of
// the caches as the real caches do. Nothing is written, and the API server is asked for one review per
// token.
func BenchmarkReports(b *testing.B) {
	const jobs = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e := emptyEnvironment(b, clock.RealClock{})
	s := e.server
	s.handler.pods = newRateLimits(1e6, 1e6, maxPods) // the limit is checked, and not reached
	var dirs [jobs]string
	for i := range jobs {
		name := fmt.Sprintf("job-%d", i)
		job := newJob(name, types.UID("uid-"+name), 2)
		setCommit(job, 12000)
		e.cache.put(job)
		e.add(job, 0)
		dir, err := spec.CheckpointURI(job)
		if err != nil {
			b.Fatal(err)
		}
		dirs[i] = dir.String()
	}
	const body = `{"attempt":2,"phase":"Training","step":%d,"totalSteps":50000,"epoch":2.48,` +
		`"stepSeconds":0.82,"firstStep":12001,` +
		`"metrics":{"loss":"1.2345","accuracy":"0.91","lr":"0.0001","grad_norm":"0.5",` +
		`"mfu":"0.41","tokens":"1e9","ppl":"3.4","val_loss":"1.3"},"checkpoint":{"state":"Committed",` +
		`"uri":"%s/attempt-2/step-0000012000","step":12000,"committedAt":"2026-11-21T09:30:00Z",` +
		`"durationSeconds":41,"bytes":9100000000},"layout":"manifest"}`
	b.ReportAllocs()
	b.ResetTimer()
	began, before := time.Now(), used(b)
	for i := range b.N {
		job := i % jobs
		req := httptest.NewRequest(http.MethodPost, "https://"+host+Path,
			bytes.NewReader(fmt.Appendf(nil, body, 12000+i/jobs, dirs[job])))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", fmt.Sprintf("Bearer job-%d-worker-0", job))
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		if rec.Code != http.StatusOK {
			reported, _ := io.ReadAll(rec.Body)
			b.Fatalf("got %d %s", rec.Code, reported)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "reports/s")
	// CPU time does not depend on what else runs on the machine.
	b.ReportMetric(float64(b.N)/(used(b)-before).Seconds(), "reports/cpu-s")
	b.ReportMetric(float64(e.queue.Len())/float64(jobs), "queued-wakes/job")
	if n := e.reviews.questions(); n > jobs && time.Since(began) < acceptedFor {
		b.Errorf("the API server was asked %d times for %d tokens", n, jobs)
	}
}

// emptyEnvironment has a leader and no jobs. Only its server uses the clock.
func emptyEnvironment(t testing.TB, c clock.Clock) *environment {
	t.Helper()
	e := &environment{
		t: t, dir: t.TempDir(), ca: newAuthority(t, "ca"), elected: make(chan struct{}), queue: newQueue(),
		cache:    &fakeCache{objects: map[string]client.Object{}, informer: &controllertest.FakeInformer{}},
		reviews:  &fakeTokenReviews{tokens: map[string]authenticationv1.TokenReviewStatus{}},
		registry: prometheus.NewRegistry(),
	}
	close(e.elected)
	e.ca.serve(t, e.dir, e.ca)
	var err error
	if e.server, err = New(Options{
		URL: "https://" + host, CertificateDir: e.dir, Audience: audience, Elected: e.elected, Cache: e.cache,
		Reviews: e.reviews, Clock: c, Registry: e.registry, Log: logr.Discard(),
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.server.Store.Start(t.Context(), e.queue); err != nil {
		t.Fatal(err)
	}
	return e
}

// used returns the CPU time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
