package reportserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// mostAllocated for one report, in bytes: JSON of 64 KiB makes a few times as much, and nothing may multiply
// it.
const mostAllocated = 16 << 20

// FuzzHandler posts any body with any authorization and content type. The answer is one plain line, nothing
// but a report of bert's rank 0 is taken, and neither an answer nor a report takes much memory.
//
//	go test ./pkg/reportserver -run '^$' -fuzz FuzzHandler -fuzztime 1m -fuzzminimizetime 5x
func FuzzHandler(f *testing.F) {
	e := newEnvironment(f)
	e.write(1 << 53) // so no commit waits
	e.server.handler.pods = newRateLimits(rate.Inf, 0, 1)
	e.server.handler.addresses = allowance.NewPerKey(time.Nanosecond, 1<<30, 1)
	const good = "Bearer bert-worker-0"
	for _, body := range []string{
		training, saved, resolved, "", "{", "[]", "null",
		`{"attempt":2,"phase":"Training",` +
			`"passedOver":[{"uri":"pvc://data/x","why":"` + strings.Repeat(`\u001b`, 99) + `"}]}`,
		strings.Repeat(`{"metrics":`, 5000), strings.Repeat("[", 60000),
	} {
		f.Add([]byte(body), good, "application/json")
	}
	f.Add([]byte(training), "Bearer bert-worker-1", "application/json; charset=utf-8")
	f.Add([]byte(training), "Basic \x1b[2J", "text/plain")
	f.Fuzz(func(t *testing.T, body []byte, authorization, contentType string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+host+Path,
			bytes.NewReader(body))
		req.Header = http.Header{"Authorization": {authorization}, "Content-Type": {contentType}}
		rec := httptest.NewRecorder()
		e.server.ServeHTTP(rec, req)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > mostAllocated {
			t.Errorf("%d bytes of report took %d bytes of memory", len(body), took)
		}
		says := strings.TrimSuffix(rec.Body.String(), "\n")
		if len(says) > maxRejectionText || strings.ContainsFunc(says, unicode.IsControl) ||
			!strings.HasPrefix(says, "{") && rec.Code == http.StatusOK {
			t.Errorf("%d %q", rec.Code, says)
		}
		switch rec.Code {
		case http.StatusOK:
			_, err := checkpoint.ParseReport(body)
			if err != nil || !strings.HasSuffix(authorization, "bert-worker-0") {
				t.Errorf("taken: %q of %q, %v", body, authorization, err)
			}
		case 400, 401, 403, 409, 413, 415, 422, 503:
		default:
			t.Errorf("answered with %d", rec.Code)
		}
	})
}

// FuzzBeats posts any body as a beat of bert's rank 1. The server takes only beats of the pod's attempt,
// answers in one plain line, and keeps one record.
//
//	go test ./pkg/reportserver -run '^$' -fuzz FuzzBeats -fuzztime 1m -fuzzminimizetime 5x
func FuzzBeats(f *testing.F) {
	e := newEnvironment(f)
	for _, body := range []string{
		beating, `{"attempt":2,"idleSeconds":0,"state":"D","stateSeconds":61,"where":"all-reduce"}`, training,
		"", "{", "[]", "null", `{"attempt":2,"idleSeconds":1e308}`, `{"attempt":3,"idleSeconds":1}`,
		`{"attempt":2,"idleSeconds":1,"where":"` + strings.Repeat("a", 900) + `"}`, strings.Repeat("[", 1000),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e.clock.Step(beatRate)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+host+BeatsPath,
			bytes.NewReader(body))
		req.Header = http.Header{
			"Authorization": {"Bearer bert-worker-1"}, "Content-Type": {"application/json"},
		}
		rec := httptest.NewRecorder()
		e.server.ServeHTTP(rec, req)
		says := strings.TrimSuffix(rec.Body.String(), "\n")
		if len(says) > maxRejectionText || strings.ContainsFunc(says, unicode.IsControl) {
			t.Errorf("%d %q", rec.Code, says)
		}
		switch beat, err := checkpoint.ParseBeat(body); rec.Code {
		case http.StatusOK:
			kept := e.server.Beats.Of("uid-bert")["uid-bert-worker-1"].Beat
			if err != nil || beat.Attempt != 2 || !cmp.Equal(*beat, kept) {
				t.Errorf("taken: %q, %v", body, err)
			}
		case 400, 409, 413:
		default:
			t.Errorf("answered with %d", rec.Code)
		}
		if e.server.Beats.Ranks() != 1 || e.queue.Len() > 0 {
			t.Errorf("%d ranks, %d wake-ups", e.server.Beats.Ranks(), e.queue.Len())
		}
	})
}

// FuzzMerge plays a history of reports and checks after each what the package promises: within an attempt
// commits only move forward, the attempt too, and within a start its steps; what is reported once stays, the
// start before the last does not return, and a report that arrives again changes nothing but the time. What
// the Store returns is never ahead of what it has received.
//
//	go test ./pkg/reportserver -run '^$' -fuzz FuzzMerge -fuzztime 1m -fuzzminimizetime 5x
func FuzzMerge(f *testing.F) {
	for seed := range uint64(100) { // which go test plays too
		random := rand.New(rand.NewPCG(seed, 1))
		var history []byte
		for range 200 {
			history = binary.BigEndian.AppendUint32(history, random.Uint32())
		}
		f.Add(history)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		clock := testingclock.NewFakeClock(start)
		store := newStore(clock)
		if err := store.Start(t.Context(), newQueue()); err != nil {
			t.Fatal(err)
		}
		var known received
		for ; len(data) >= 4 && len(data) < 4096; data = data[4:] {
			r, over := fuzzedReport(binary.BigEndian.Uint32(data))
			clock.Step(time.Duration(data[3]%20) * time.Second)
			next, _ := known.merge(r, over, clock.Now())
			expectForward(t, known, next)
			again, news := next.merge(r, over, clock.Now())
			if news != noNews || !cmp.Equal(again, next, cmp.AllowUnexported(received{}, commit{})) {
				t.Fatalf("again %+v is news: %d", r, news)
			}
			known = next
			store.add(types.NamespacedName{Name: "bert"}, "uid-bert", r, over, false)
			if notified, ok := store.Latest("uid-bert"); ok && (notified.Attempt > known.report.Attempt ||
				notified.Attempt == known.report.Attempt && notified.Start == known.report.Start &&
					notified.Step > known.report.Step) {
				t.Fatalf("visible %+v, received %+v", notified, known.report)
			}
		}
		if text, err := json.Marshal(known.report); err != nil || len(text) > 1024 {
			t.Errorf("%d bytes are kept, %v", len(text), err)
		}
	})
}

// fuzzedReport is made of few values, so that they meet.
func fuzzedReport(bits uint32) (r *checkpoint.Report, attemptOver bool) {
	take := func(n uint32) uint32 {
		v := bits % n
		bits /= n
		return v
	}
	phases := []checkpoint.Phase{"Starting", "Training", "Saving", "Completed", "Resolved"}
	r = report(int32(1+take(3)), int64(take(6)), withPhase(phases[take(5)]))
	switch take(4) {
	case 1:
		withCommit(int64(take(6)))(r)
	case 2:
		r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveFailed, Step: int64(take(6))}
	}
	if take(3) == 1 {
		withFirstStep(int64(take(6)))(r)
	}
	if take(3) == 1 {
		withCommand([]string{"a", "b"}[take(2)])(r)
	}
	over := take(5) == 1
	r.Start = []string{"", "a", "b"}[take(3)]
	return r, over
}

func expectForward(t *testing.T, before, after received) {
	t.Helper()
	if a, b := after.commit, before.commit; b != nil && (a == nil || a != b && !a.newerThan(b)) {
		t.Fatalf("the commit goes from %+v to %+v", b, a)
	}
	a, b := after.report, before.report
	if b == nil {
		return
	}
	switch {
	case a == nil || a.Attempt < b.Attempt:
		t.Fatalf("the attempt goes from %+v to %+v", b, a)
	case a.Attempt > b.Attempt:
	case a.Start != b.Start:
		returns := before.former != "" && a.Start == before.former
		if returns || after.former != b.Start || after.formerStep != b.Step {
			t.Fatalf("start %q returns, or its steps are lost: from %+v to %+v", before.former, before, after)
		}
	case a.Step < b.Step, b.FirstStep != nil && a.FirstStep == nil, b.CommandID != "" && a.CommandID == "":
		t.Fatalf("the report goes from %+v to %+v", b, a)
	}
}
