package reportserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

const (
	beating = `{"attempt":2,"step":100,"phase":"Training","idleSeconds":1.5}`
	taken   = `{"minIntervalSeconds":`
	pace30  = taken + `30}`
)

// beatOf is a request as the agent of a rank sends it.
func beatOf(pod, body string) request {
	r := post(body)
	r.path, r.token = BeatsPath, pod
	return r
}

// TestBeatsOfEveryRank: the server keeps the last beat of each rank by the UID of its pod, wakes no job, and
// ends the connection.
func TestBeatsOfEveryRank(t *testing.T) {
	e := newEnvironment(t)
	e.expect(beatOf("bert-worker-0", beating), 200, taken)
	e.clock.Step(30 * time.Second)
	rec := e.do(beatOf("bert-worker-1", strings.Replace(beating, "100", "99", 1)))
	if rec.Code != 200 || rec.Header().Get("Connection") != "close" {
		t.Errorf("got %d, Connection %q", rec.Code, rec.Header().Get("Connection"))
	}
	e.clock.Step(time.Second)
	e.expect(beatOf("bert-worker-1", strings.Replace(beating, "100", "101", 1)), 200, pace30)
	beat := func(step int64, at time.Duration) observation.ReceivedBeat {
		return observation.ReceivedBeat{Received: start.Add(at), Beat: checkpoint.Beat{
			Attempt: 2, Step: &step, Phase: checkpoint.PhaseTraining, IdleSeconds: 1.5,
		}}
	}
	want := map[types.UID]observation.ReceivedBeat{
		"uid-bert-worker-0": beat(100, 0), "uid-bert-worker-1": beat(101, 31*time.Second),
	}
	if diff := cmp.Diff(want, e.server.Beats.Of("uid-bert")); diff != "" {
		t.Errorf("beats (-want +got):\n%s", diff)
	}
	if woken := e.woken(); len(woken) > 0 {
		t.Errorf("beats woke %v", woken)
	}
	if _, known := e.store.Latest("uid-bert"); known || len(e.server.Beats.Of("uid-other")) > 0 {
		t.Error("a beat became a report, or another job's")
	}
	if got := e.metric("trainingjob_beat_ranks", ""); got != 2 {
		t.Errorf("trainingjob_beat_ranks is %v", got)
	}
}

// metric returns the value of a series of a counter or gauge.
func (e *environment) metric(name, label string) float64 {
	e.t.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		e.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	e.t.Fatalf("no series %s with label %q", name, label)
	return 0
}

// TestRejectedBeats: a beat with one fault is rejected, and leaves no trace. Each case first shows that the
// server takes the beat without the fault.
func TestRejectedBeats(t *testing.T) {
	type test struct {
		wrong        func(*environment, *request)
		code         int
		says, result string
	}
	body := func(text string) func(*environment, *request) {
		return func(_ *environment, r *request) { r.body = text }
	}
	pod := func(do func(*corev1.Pod)) func(*environment, *request) {
		return func(e *environment, _ *request) { change(e, "bert-worker-1", do) }
	}
	job := func(do func(*v1alpha1.TrainingJob)) func(*environment, *request) {
		return func(e *environment, _ *request) { change(e, "bert", do) }
	}
	token := func(do func(*authenticationv1.TokenReviewStatus)) func(*environment, *request) {
		return func(e *environment, _ *request) { e.reviews.change("bert-worker-1", do) }
	}
	tests := map[string]test{
		"a GET": {func(_ *environment, r *request) { r.method = http.MethodGet }, 405, "use POST", resultNotServed},
		"a query": {func(_ *environment, r *request) { r.path += "?rank=0" }, 404, "unknown path",
			resultNotServed},
		"a form": {func(_ *environment, r *request) { r.contentType = "text/plain" }, 415, "Content-Type",
			resultNotServed},
		"no leader": {func(e *environment, _ *request) { e.server.handler.elected = make(chan struct{}) }, 503,
			"not the leader", resultNotLeader},
		"no token":     {func(_ *environment, r *request) { r.token = "" }, 401, "Authorization", resultToken},
		"a forged one": {func(_ *environment, r *request) { r.token = "forged" }, 401, "expired", resultToken},
		"a token for others": {token(func(s *authenticationv1.TokenReviewStatus) {
			s.Audiences = []string{"vault"}
		}), 401, "audience", resultToken},
		"a token without a pod UID": {token(func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{}
		}), 401, "not bound to a pod", resultToken},
		"an API server that is away": {func(e *environment, _ *request) { e.reviews.broken = errors.New("away") },
			503, "did not review", resultUnavailable},
		"caches that do not respond": {func(e *environment, _ *request) { e.cache.broken = errors.New("away") },
			503, "caches", resultUnavailable},
		"a namespace of another operator": {
			func(e *environment, _ *request) { e.server.handler.namespaces = []string{"team-b"} }, 403,
			"does not watch", resultSender},
		"a replaced pod": {pod(func(p *corev1.Pod) { p.UID = "new" }), 403, "was replaced", resultSender},
		"a pod that failed": {pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), 403, "has ended",
			resultSender},
		"a deleted pod": {func(e *environment, _ *request) {
			e.cache.drop(e.cache.find(new(*corev1.Pod), "bert-worker-1"))
		}, 403, "is deleted", resultSender},
		"a pod without a controller": {pod(func(p *corev1.Pod) { p.OwnerReferences = nil }), 403,
			"not controlled by a TrainingJob", resultSender},
		"a pod of another job of that name": {pod(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "gone" }), 403,
			"which is deleted", resultSender},
		"a resolver": {pod(func(p *corev1.Pod) {
			p.Labels[v1alpha1.LabelComponent] = v1alpha1.ComponentResolver
		}), 403, "is not a rank", resultSender},
		"a pod without an index": {pod(func(p *corev1.Pod) {
			delete(p.Labels, v1alpha1.LabelKubeflowReplicaIndex)
		}), 403, "is not a rank", resultSender},
		"a pod with another rank's index": {pod(func(p *corev1.Pod) {
			p.Labels[v1alpha1.LabelKubeflowReplicaIndex] = "0"
		}), 403, "is not a rank", resultSender},
		"no attempt": {pod(func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelAttempt) }), 403,
			"has no attempt", resultSender},
		"a former attempt": {job(func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 3 }), 409,
			"attempt 2 has ended", resultAttempt},
		"an attempt that is not known yet": {job(func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 1 }), 503,
			"not known here yet", resultAttempt},
		"a job that has finished": {job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseSucceeded }),
			409, "has ended", resultAttempt},
		"another attempt in the body": {body(strings.Replace(beating, `"attempt":2`, `"attempt":1`, 1)), 409,
			"attempt is 1, but this pod belongs to attempt 2", resultAttempt},
		"a rank in the body": {body(`{"attempt":2,"idleSeconds":1,"rank":0}`), 400, "rank is unknown",
			resultMalformed},
		"nothing":              {body(""), 400, "ends too early", resultMalformed},
		"a report":             {body(training), 400, "is unknown", resultMalformed},
		"a time before it":     {body(`{"attempt":2,"idleSeconds":-1}`), 400, "idleSeconds is -1", resultMalformed},
		"a number that is not": {body(`{"attempt":2,"idleSeconds":1e999}`), 400, "idleSeconds", resultMalformed},
		"an unknown state":     {body(`{"attempt":2,"idleSeconds":1,"state":"Z"}`), 400, "state", resultMalformed},
		"an escape in where": {body(`{"attempt":2,"idleSeconds":1,"where":"\u001b[2J"}`), 400, "where",
			resultMalformed},
		"two beats": {body(beating + beating), 400, "continues after its end", resultMalformed},
		"too many bytes": {body(beating + strings.Repeat(" ", checkpoint.MaxBeatBytes)), 413,
			"more than 1024 bytes", resultOversized},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			e.expect(beatOf("bert-worker-1", beating), 200, taken)
			e = newEnvironment(t)
			r := beatOf("bert-worker-1", beating)
			tc.wrong(e, &r)
			e.expect(r, tc.code, tc.says)
			if e.metric("trainingjob_beats_total", tc.result) != 1 {
				t.Errorf("trainingjob_beats_total does not count %s", tc.result)
			}
			if kept := e.server.Beats.Of("uid-bert"); len(kept) > 0 || len(e.woken()) > 0 {
				t.Errorf("it left %+v, or woke the job", kept)
			}
		})
	}
}

// TestDeletedPodIsRefusedAtOnce, although the server has its token in the cache.
func TestDeletedPodIsRefusedAtOnce(t *testing.T) {
	e := newEnvironment(t)
	e.expect(beatOf("bert-worker-1", beating), 200, taken)
	asked := e.reviews.questions()
	e.cache.drop(e.cache.find(new(*corev1.Pod), "bert-worker-1"))
	e.expect(beatOf("bert-worker-1", beating), 403, "is deleted")
	if n := e.reviews.questions(); n != asked {
		t.Errorf("the API server was asked %d times more", n-asked)
	}
}

// TestBeatChangesItsOwnRankOnly: the pod of another job, with the same attempt and index, cannot change what
// the server has of this one, whatever its body.
func TestBeatChangesItsOwnRankOnly(t *testing.T) {
	e := newEnvironment(t)
	other := newJob("other", "uid-other", 2)
	e.cache.put(other)
	e.add(other, 1)
	e.expect(beatOf("bert-worker-1", beating), 200, taken)
	before := e.server.Beats.Of("uid-bert")
	e.expect(beatOf("other-worker-1", strings.Replace(beating, "100", "7", 1)), 200, taken)
	if diff := cmp.Diff(before, e.server.Beats.Of("uid-bert")); diff != "" {
		t.Errorf("bert's beats changed:\n%s", diff)
	}
	if got := e.server.Beats.Of("uid-other"); len(got) != 1 || *got["uid-other-worker-1"].Step != 7 {
		t.Errorf("other's beats are %+v", got)
	}
}

// TestReplacedPod: under restart scope Rank a new pod takes the place of its predecessor, whose beat goes.
func TestReplacedPod(t *testing.T) {
	e := newEnvironment(t)
	e.expect(beatOf("bert-worker-1", beating), 200, taken)
	e.reviews.give("again", change(e, "bert-worker-1", func(p *corev1.Pod) { p.UID = "again" }))
	e.expect(beatOf("bert-worker-1", beating), 403, "was replaced")
	e.expect(beatOf("again", beating), 200, taken)
	got := slices.Collect(maps.Keys(e.server.Beats.Of("uid-bert")))
	if !slices.Equal(got, []types.UID{"again"}) || e.server.Beats.Ranks() != 1 {
		t.Errorf("kept %v, %d ranks", got, e.server.Beats.Ranks())
	}
}

// TestBeatsAreForgotten with the attempt, with the end of the job, and with the job.
func TestBeatsAreForgotten(t *testing.T) {
	job := func(do func(*v1alpha1.TrainingJob)) func(*environment) {
		return func(e *environment) { change(e, "bert", do) }
	}
	for name, tc := range map[string]struct {
		do   func(*environment)
		left int
	}{
		"an edit": {job(func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"a": "b"} }), 2},
		"running": {job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseRunning }), 2},
		"draining, while ranks save": {job(func(j *v1alpha1.TrainingJob) {
			j.Status.Phase = v1alpha1.PhaseDraining
		}), 2},
		"a newer attempt": {job(func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 3 }), 0},
		"restarting":      {job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseRestarting }), 0},
		"suspended":       {job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseSuspended }), 0},
		"failed":          {job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseFailed }), 0},
		"deleted": {func(e *environment) {
			gone := e.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob)
			e.cache.informer.Delete(gone)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			for i := range 2 {
				e.expect(beatOf(fmt.Sprint("bert-worker-", i), beating), 200, taken)
			}
			tc.do(e)
			if n := e.server.Beats.Ranks(); n != tc.left || len(e.server.Beats.Of("uid-bert")) != tc.left {
				t.Errorf("%d ranks are left, want %d", n, tc.left)
			}
		})
	}
}

// TestNewerAttemptReplacesBeats although no change of the job was seen.
func TestNewerAttemptReplacesBeats(t *testing.T) {
	b := newBeats(testingclock.NewFakeClock(start))
	for i := range 3 {
		keep(b, beatingRank{job: "a", pod: types.UID(fmt.Sprint("old-", i)), name: fmt.Sprint(i), attempt: 1})
	}
	keep(b, beatingRank{job: "a", pod: "new", name: "0", attempt: 2})
	if got := b.Of("a"); len(got) != 1 || b.Ranks() != 1 {
		t.Errorf("got %+v of %d ranks", got, b.Ranks())
	}
}

func keep(b *Beats, from beatingRank) bool {
	ok := b.take(from)
	if ok {
		b.add(from, &checkpoint.Beat{Attempt: from.attempt})
	}
	return ok
}

// TestRanksAreBounded: beyond the bound the rank without a beat for longest goes, and a job without ranks.
func TestRanksAreBounded(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	b := newBeats(clock)
	rank := func(i int) beatingRank {
		return beatingRank{job: types.UID(fmt.Sprint("job-", i/2)), pod: types.UID(fmt.Sprint("pod-", i)),
			name: strconv.Itoa(i), attempt: 1}
	}
	for i := range maxBeatRanks {
		keep(b, rank(i))
	}
	keep(b, rank(0))
	for i := range 3 {
		keep(b, rank(maxBeatRanks+i))
	}
	if b.Ranks() != maxBeatRanks || len(b.ranks) != maxBeatRanks || len(b.Of("job-0")) != 1 ||
		b.jobs["job-1"] != nil || len(b.Of("job-2")) != 2 || b.expected != maxBeatRanks {
		t.Errorf("%d ranks, %d expected; job-0 has %d", b.Ranks(), b.expected, len(b.Of("job-0")))
	}
	for i := range maxBeatRanks + 3 {
		b.Forget(types.UID(fmt.Sprint("job-", i/2)))
	}
	if b.Ranks() != 0 || len(b.ranks) != 0 || len(b.jobs) != 0 || b.expected != 0 {
		t.Errorf("left: %d ranks, %d pods, %d jobs, %d expected", b.Ranks(), len(b.ranks), len(b.jobs), b.expected)
	}
}

// TestPace: all ranks together send 100 beats a second, and none more often than every 30 s or less often
// than every 10 minutes. A job has at least the ranks that its status counts, so that the pace holds from the
// first beats on.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		ranks, active int
		want          time.Duration
	}{
		{0, 0, 30 * time.Second}, {1, 1, 30 * time.Second}, {3000, 0, 30 * time.Second},
		{5000, 5000, 50 * time.Second}, {1, 5000, 50 * time.Second}, {5000, 4000, 50 * time.Second},
		{1, 60001, 10 * time.Minute}, {1, 1 << 40, 10 * time.Minute},
	} {
		b := newBeats(testingclock.NewFakeClock(start))
		for i := range c.ranks {
			keep(b, beatingRank{job: "a", pod: types.UID(strconv.Itoa(i)), name: strconv.Itoa(i), attempt: 1,
				active: c.active})
		}
		if got := b.Interval(); got != c.want {
			t.Errorf("%d ranks of %d: interval %s, want %s", c.ranks, c.active, got, c.want)
		}
	}
	e := newEnvironment(t)
	change(e, "bert", func(j *v1alpha1.TrainingJob) {
		j.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.RoleMaster: {Active: 1}, v1alpha1.RoleWorker: {Active: 4999},
		}
	})
	for i := range 2 {
		pod := fmt.Sprint("bert-worker-", i)
		var answer checkpoint.BeatAnswer
		if err := json.Unmarshal(e.do(beatOf(pod, beating)).Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if s := answer.MinIntervalSeconds; s < 50 || s > 100 {
			t.Errorf("the first interval of %s is %ds, want one from 50 to 100", pod, s)
		}
		e.expect(beatOf(pod, beating), 200, `{"minIntervalSeconds":50}`)
	}
}

// TestRateOfBeats: a rank has a few beats in reserve, whether they are valid or not, and others have theirs.
func TestRateOfBeats(t *testing.T) {
	e := newEnvironment(t)
	e.expect(beatOf("bert-worker-0", "{"), 400, "")
	for range beatBurst - 1 {
		e.expect(beatOf("bert-worker-0", beating), 200, taken)
	}
	rec := e.do(beatOf("bert-worker-0", beating))
	if rec.Code != 429 || rec.Header().Get("Retry-After") != "10" {
		t.Errorf("got %d, Retry-After %q", rec.Code, rec.Header().Get("Retry-After"))
	}
	e.expect(beatOf("bert-worker-1", beating), 200, taken)
	e.expect(post(training), 200, "None")
	e.clock.Step(beatRate)
	e.expect(beatOf("bert-worker-0", beating), 200, taken)
}

// TestFloodOfBeatsDelaysNoReport: while beats occupy all their places, and wait for the API server, reports
// are answered, also those whose token needs a review.
func TestFloodOfBeatsDelaysNoReport(t *testing.T) {
	e := newEnvironment(t)
	held := &fakeTokenReviews{tokens: e.reviews.tokens, hold: make(chan struct{})}
	e.server.handler.beatTokens.reviews = held
	codes := make(chan int, maxBeatsInFlight)
	for i := range maxBeatsInFlight {
		go func() { // of other pods, and so of other tokens
			r := beatOf("guess-"+strconv.Itoa(i), beating)
			codes <- e.do(r).Code
		}()
	}
	// The rest were rejected by the limit of the address, and do not hold a place.
	eventually(t, "beats wait for reviews", func() bool { return held.questions() == badTokenBurst })
	e.expect(post(training), 200, "None")
	close(held.hold)
	for range maxBeatsInFlight {
		<-codes
	}
	for range maxBeatsInFlight {
		e.server.handler.beatsInFlight <- struct{}{}
	}
	e.expect(beatOf("bert-worker-1", beating), 503, "64 beats are already in progress")
	e.clock.Step(2 * acceptedFor)
	e.expect(post(training), 200, "None")
}
