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
)

// BenchmarkReports is the whole handler on one core: 1,000 jobs whose rank 0 says where it is, with eight metrics and the commit that the
// status holds. Tokens are remembered, and pods and jobs are copied out of the caches as the real ones do. Nothing is written and
// nothing is asked of the API server beyond one review for each token.
func BenchmarkReports(b *testing.B) {
	const jobs = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := &world{
		t: b, dir: b.TempDir(), ca: newAuthority(b, "ca"), elected: make(chan struct{}),
		cache:   &memory{objects: map[string]client.Object{}, informer: &controllertest.FakeInformer{}},
		reviews: &reviews{tokens: map[string]authenticationv1.TokenReviewStatus{}},
	}
	close(w.elected)
	w.ca.serve(b, w.dir, w.ca)
	real := clock.RealClock{}
	inbox := NewInbox(real)
	s, err := New(Options{
		URL: "https://" + host, CertificateDir: w.dir, Audience: audience, Elected: w.elected, Cache: w.cache, Reviews: w.reviews, Desk: desk{},
		Inbox: inbox, Clock: real, Registry: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		b.Fatal(err)
	}
	s.pods = newLimits(1e6, 1e6, maxPods) // the limit is kept, and not reached
	w.queue = newQueue()
	if err := inbox.Start(b.Context(), w.queue); err != nil {
		b.Fatal(err)
	}
	for i := range jobs {
		name := fmt.Sprintf("job-%d", i)
		job := newJob(name, types.UID("uid-"+name), 2)
		job.Annotations = map[string]string{writtenTo: "2/12000"}
		w.cache.put(job)
		w.add(job, 0)
	}
	const body = `{"attempt":2,"phase":"Training","step":%d,"totalSteps":50000,"epoch":2.48,"stepSeconds":0.82,"firstStep":12001,` +
		`"metrics":{"loss":"1.2345","accuracy":"0.91","lr":"0.0001","grad_norm":"0.5","mfu":"0.41","tokens":"1e9","ppl":"3.4","val_loss":"1.3"},` +
		`"checkpoint":{"state":"Committed","uri":"pvc://data/job-%d/attempt-2/step-0000012000","step":12000,"committedAt":"2026-11-21T09:30:00Z","durationSeconds":41,"bytes":9100000000},"layout":"manifest"}`
	b.ReportAllocs()
	b.ResetTimer()
	began, before := time.Now(), used(b)
	for i := range b.N {
		job := i % jobs
		req := httptest.NewRequest(http.MethodPost, "https://"+host+Path, bytes.NewReader(fmt.Appendf(nil, body, 12000+i/jobs, job)))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", fmt.Sprintf("Bearer job-%d-worker-0", job))
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, req)
		if rec.Code != http.StatusOK {
			said, _ := io.ReadAll(rec.Body)
			b.Fatalf("got %d %s", rec.Code, said)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "reports/s")
	// What the process used, whatever else runs on the machine.
	b.ReportMetric(float64(b.N)/(used(b)-before).Seconds(), "reports/cpu-s")
	b.ReportMetric(float64(w.queue.Len())/float64(jobs), "queued-wakes/job")
	if n := w.reviews.questions(); n > jobs && time.Since(began) < acceptedFor {
		b.Errorf("the API server was asked %d times for %d tokens", n, jobs)
	}
}

// used is the processor time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
