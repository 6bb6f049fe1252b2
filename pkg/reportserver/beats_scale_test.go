package reportserver

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// fullBeat is the body of a beat with all fields, as a rank of PyTorch sends it.
const fullBeat = `{"attempt":2,"step":%d,"phase":"Training","where":"all-reduce of layer 17",` +
	`"idleSeconds":1.532,"longestPauseSeconds":41.2,"stepSeconds":0.82,"firstStepSeconds":95.1,` +
	`"busySeconds":0.61,"cpus":7.9,"diskBytesPerSecond":1048576,"networkBytesPerSecond":1073741824,` +
	`"state":"R","stateSeconds":3600}`

// gangs adds jobs of as many ranks to an environment, and returns the names of the pods, which are the
// tokens.
func (e *environment) gangs(jobs, ranks int) []string {
	var pods []string
	for i := range jobs {
		name := fmt.Sprintf("job-%d", i)
		job := newJob(name, types.UID("uid-"+name), 2)
		job.Status.Phase = v1alpha1.PhaseRunning
		job.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.RoleWorker: {Active: int32(ranks)},
		}
		e.cache.put(job)
		for r := range ranks {
			pods = append(pods, e.add(job, int32(r)).Name)
		}
	}
	return pods
}

// Rules of agents and kubelets that the simulation keeps (pkg/reportclient; kubernetes pkg/kubelet/token).
const (
	firstBeats = time.Minute // within which the first beats of a gang are spread
	rotation   = 48 * time.Minute
	rotating   = 90 * time.Second // until all kubelets have seen that tokens are old
)

// TestBeatsAtScale plays an hour and a half of large clusters in simulated time. The ranks start together,
// send their first beats within a minute, and then keep the interval of the last answer, give or take a
// tenth. After half an hour the leader changes; the new one knows nothing. Then the kubelets replace all
// tokens.
//
// The limits are those of the design: 110 beats a second in each minute, and 10 token reviews a second on
// average. In its first minutes a leader learns the number of ranks, and reviews every token once. Nothing is
// written and no job is woken.
func TestBeatsAtScale(t *testing.T) {
	for name, size := range map[string]struct{ jobs, ranks int }{
		"one gang of 5000": {1, 5000}, "1000 gangs of 8": {1000, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := newBeatSimulation(t, size.jobs, size.ranks)
			s.play(30 * time.Minute)
			s.newLeader()
			s.play(time.Hour)
			for from, to := range map[time.Duration]time.Duration{
				0: 30 * time.Minute, 30 * time.Minute: 90 * time.Minute,
			} {
				most, rate := s.mostBeats(from+2*time.Minute, to), s.reviewRate(from+10*time.Minute, to)
				t.Logf("leader from %s on: at most %d beats and %.1f reviews a second", from, most, rate)
				if most > 110 || rate > 10 {
					t.Errorf("leader from %s on: %d beats and %.1f reviews a second", from, most, rate)
				}
			}
			if woken := s.woken(); len(woken) > 0 {
				t.Errorf("beats woke %v", woken)
			}
		})
	}
}

// beatSimulation has the part of the handler that keeps state, so that hundreds of thousands of beats are
// played in a second. BenchmarkBeats and TestMemoryOfBeats use all of it.
type beatSimulation struct {
	*environment
	time   *testingclock.FakeClock
	random *rand.Rand
	ranks  rankQueue
	// beats and reviews in each second of the simulation.
	beats, reviewed map[int]int
}

// simulatedRank is a rank and when its next beat is due.
type simulatedRank struct {
	beatingRank
	due, rotates time.Time
}

type rankQueue []*simulatedRank

func (q rankQueue) Len() int           { return len(q) }
func (q rankQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q rankQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *rankQueue) Push(x any)        { *q = append(*q, x.(*simulatedRank)) }
func (q *rankQueue) Pop() any          { panic("a rank is never removed") }

func newBeatSimulation(t *testing.T, jobs, ranks int) *beatSimulation {
	s := &beatSimulation{
		time: testingclock.NewFakeClock(start), random: rand.New(rand.NewPCG(1, 2)),
		beats: map[int]int{}, reviewed: map[int]int{},
	}
	s.environment = emptyEnvironment(t, s.time)
	for _, name := range s.gangs(jobs, ranks) {
		pod := s.cache.find(new(*corev1.Pod), name).(*corev1.Pod)
		s.reviews.give(name+"-rotated", pod)
		s.ranks = append(s.ranks, &simulatedRank{
			beatingRank: beatingRank{
				job: pod.OwnerReferences[0].UID, pod: pod.UID, name: name, attempt: 2, active: ranks,
			},
			due: start.Add(s.upTo(firstBeats)), rotates: start.Add(rotation + s.upTo(rotating)),
		})
	}
	heap.Init(&s.ranks)
	return s
}

func (s *beatSimulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d)))
}

// newLeader replaces the server by one that knows nothing.
func (s *beatSimulation) newLeader() {
	next := emptyEnvironment(s.t, s.time)
	next.server.handler.beatTokens.reviews = s.reviews
	s.server = next.server
}

func (s *beatSimulation) play(d time.Duration) {
	beat := checkpoint.Beat{Attempt: 2}
	h, end := s.server.handler, s.time.Now().Add(d)
	for s.ranks[0].due.Before(end) {
		r := s.ranks[0]
		s.time.SetTime(r.due)
		second := int(r.due.Sub(start) / time.Second)
		s.beats[second]++
		token := r.name
		if r.due.After(r.rotates) {
			token += "-rotated"
		}
		if _, known := h.beatTokens.cached(token); !known {
			s.reviewed[second]++
			if got := h.beatTokens.review(s.t.Context(), token); got.pod.uid != r.pod {
				s.t.Fatalf("the review of %s gave %+v", token, got)
			}
		}
		if !h.beats.take(r.beatingRank) {
			s.t.Fatalf("the beat of %s is refused", r.name)
		}
		interval := h.beats.add(r.beatingRank, &beat)
		r.due = r.due.Add(interval*9/10 + s.upTo(interval/5))
		heap.Fix(&s.ranks, 0)
	}
	s.time.SetTime(end)
}

// mostBeats returns the highest mean number of beats a second in a minute.
func (s *beatSimulation) mostBeats(from, to time.Duration) int {
	most := 0
	for second := int(from / time.Second); second < int(to/time.Second)-60; second++ {
		sum := 0
		for i := range 60 {
			sum += s.beats[second+i]
		}
		most = max(most, (sum+59)/60)
	}
	return most
}

// reviewRate returns the mean number of reviews a second.
func (s *beatSimulation) reviewRate(from, to time.Duration) float64 {
	sum := 0
	for second := int(from / time.Second); second < int(to/time.Second); second++ {
		sum += s.reviewed[second]
	}
	return float64(sum) / (to - from).Seconds()
}

// TestMemoryOfBeats: what the server keeps of large clusters, with the cached tokens, takes at most 8 MB.
func TestMemoryOfBeats(t *testing.T) {
	const most = 8 << 20
	for name, size := range map[string]struct{ jobs, ranks int }{
		"one gang of 5000": {1, 5000}, "1000 gangs of 8": {1000, 8},
	} {
		t.Run(name, func(t *testing.T) {
			c := testingclock.NewFakeClock(start)
			e := emptyEnvironment(t, c)
			pods := e.gangs(size.jobs, size.ranks)
			before := allocated()
			for round := range 2 {
				for _, pod := range pods {
					e.expect(beatOf(pod, fmt.Sprintf(fullBeat, round)), http.StatusOK, "minIntervalSeconds")
				}
				c.Step(time.Minute)
			}
			used := allocated() - before
			t.Logf("%d ranks take %d KiB, %d bytes each", len(pods), used>>10, used/int64(len(pods)))
			if n := e.server.Beats.Ranks(); n != len(pods) || used > most {
				t.Errorf("%d of %d ranks take %d bytes, more than %d", n, len(pods), used, most)
			}
		})
	}
}

// allocated returns the bytes of live objects.
func allocated() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkBeats measures the whole handler on one core: all ranks of a gang of 5,000 send beats in turn.
// Tokens are cached, and pods and jobs are copied out of the caches as the real caches do. TLS is not
// included.
func BenchmarkBeats(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, size := range map[string]struct{ jobs, ranks int }{
		"one-gang-of-5000": {1, 5000}, "1000-gangs-of-8": {1000, 8},
	} {
		b.Run(name, func(b *testing.B) {
			c := testingclock.NewFakePassiveClock(start)
			e := emptyEnvironment(b, clock.RealClock{})
			e.server.Beats.clock = c
			pods := e.gangs(size.jobs, size.ranks)
			beat := func(i int) {
				rec := e.do(beatOf(pods[i%len(pods)], fmt.Sprintf(fullBeat, i/len(pods))))
				if rec.Code != http.StatusOK {
					b.Fatalf("got %d %s", rec.Code, text(rec.Body))
				}
				if i%len(pods) == 0 {
					c.SetTime(c.Now().Add(time.Minute))
				}
			}
			for i := range pods {
				beat(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := used(b)
			for i := range b.N {
				beat(i)
			}
			b.ReportMetric(float64((used(b)-before).Microseconds())/float64(b.N), "cpu-us/beat")
			b.ReportMetric(float64(e.queue.Len()), "wakes")
		})
	}
}
