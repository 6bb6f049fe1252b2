package reportserver

import (
	"container/list"
	"hash/fnv"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Beats keeps the last beat of each rank, in memory: beats have ages and no events, so a new leader has all
// of them after one interval. It wakes no job, so a beat never causes a write.
type Beats struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	jobs  map[types.UID]*jobBeats
	// ranks by the UID of their pods. order has them too, the least recent beat first.
	ranks map[types.UID]*list.Element
	order *list.List
	// expected is the sum of what the jobs expect.
	expected int
}

// jobBeats are the ranks of one attempt of a job.
type jobBeats struct {
	attempt int32
	// ranks by the name of their pods.
	ranks map[string]*list.Element
	// active ranks, as the job's status counts them: shortly after this process has become the leader, more than
	// in ranks.
	active int
	// expected is the job's part of Beats.expected.
	expected int
}

// rankBeats is one rank.
type rankBeats struct {
	job, pod types.UID
	name     string
	// beat is nil until a first one was accepted.
	beat     *checkpoint.Beat
	received time.Time
	limit    allowance.Allowance
}

func newBeats(c clock.PassiveClock) *Beats {
	return &Beats{
		clock: c, jobs: map[types.UID]*jobBeats{}, ranks: map[types.UID]*list.Element{}, order: list.New(),
	}
}

// Of returns the last beats of a job's ranks in its newest attempt, by the UID of the pod.
func (b *Beats) Of(job types.UID) map[types.UID]observation.ReceivedBeat {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.jobs[job]
	if known == nil {
		return nil
	}
	beats := make(map[types.UID]observation.ReceivedBeat, len(known.ranks))
	for _, at := range known.ranks {
		if r := at.Value.(*rankBeats); r.beat != nil {
			beats[r.pod] = observation.ReceivedBeat{Beat: *r.beat, Received: r.received}
		}
	}
	return beats
}

// Interval returns the time between two beats of a rank that keeps all ranks together at beatsPerSecond.
func (b *Beats) Interval() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.interval()
}

func (b *Beats) interval() time.Duration {
	return max(minBeatInterval, min(perRank(b.expected, beatsPerSecond), maxBeatInterval))
}

// perRank returns the time between two events of one of n ranks that have some events per second together.
func perRank(n, perSecond int) time.Duration {
	return time.Duration(min(n, math.MaxInt32)) * time.Second / time.Duration(perSecond)
}

// Ranks returns the number of ranks in memory.
func (b *Beats) Ranks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order.Len()
}

// tokenLifetime returns how long an accepted token of a pod needs no other review: until the next of the
// times that are the pod's own, of which its UID decides. Otherwise the tokens of a gang, and of all gangs
// after a change of the leader, would expire within the same minute.
func (b *Beats) tokenLifetime(pod podIdentity) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	period := max(minBeatToken, min(perRank(b.expected, beatReviewsPerSecond), maxBeatToken))
	return period - (time.Duration(b.clock.Now().UnixNano())+share(pod.uid, period))%period
}

// take counts a beat against the rate of the rank, before the server reads the body. It returns false if the
// rank sends too often.
func (b *Beats) take(from beatingRank) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if job := b.jobs[from.job]; job == nil || job.attempt < from.attempt {
		b.forget(from.job)
		b.jobs[from.job] = &jobBeats{attempt: from.attempt, ranks: map[string]*list.Element{}}
	}
	job := b.jobs[from.job]
	at := job.ranks[from.name]
	if at == nil {
		at = b.order.PushBack(&rankBeats{
			job: from.job, name: from.name, limit: allowance.Allowance{Interval: beatRate, Burst: beatBurst},
		})
		job.ranks[from.name] = at
	}
	r := at.Value.(*rankBeats)
	if r.pod != from.pod { // it is new, or restart scope Rank has replaced the pod
		delete(b.ranks, r.pod)
		r.pod, r.beat = from.pod, nil
		b.ranks[r.pod] = at
	}
	b.order.MoveToBack(at)
	job.active = from.active
	b.count(job)
	for b.order.Len() > maxBeatRanks {
		b.remove(b.order.Front())
	}
	return r.limit.Take(b.clock.Now())
}

// add keeps a beat that take has let pass, and returns how long the rank waits before the next one. The first
// interval of each rank is longer, up to twice as long, as its UID decides: the ranks of a gang start
// together, and would continue to send together.
func (b *Beats) add(from beatingRank, beat *checkpoint.Beat) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	interval := b.interval()
	at := b.ranks[from.pod]
	if at == nil { // it was removed meanwhile, and has to send another one
		return interval
	}
	r := at.Value.(*rankBeats)
	if r.beat == nil {
		interval += share(from.pod, interval)
	}
	r.beat, r.received = beat, b.clock.Now()
	return interval
}

// share returns a part of a time, from nothing to all of it, that depends on the UID of a pod alone.
func share(pod types.UID, of time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pod))
	return time.Duration(float64(of) * float64(h.Sum32()) / math.MaxUint32)
}

// follow removes what a job does not need any more: the ranks of an attempt that is over.
func (b *Beats) follow(job *v1alpha1.TrainingJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.jobs[job.UID]
	if known != nil && (known.attempt < job.Status.Attempt || !mayRun(job)) {
		b.forget(job.UID)
	}
}

// mayRun reports whether ranks of the job's current attempt may run.
func mayRun(job *v1alpha1.TrainingJob) bool {
	switch job.Status.Phase {
	case v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed:
		return false
	}
	return true
}

// Forget removes a deleted job.
func (b *Beats) Forget(job types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(job)
}

func (b *Beats) forget(job types.UID) {
	if known := b.jobs[job]; known != nil {
		for _, at := range known.ranks {
			b.remove(at)
		}
	}
}

func (b *Beats) remove(at *list.Element) {
	r := b.order.Remove(at).(*rankBeats)
	delete(b.ranks, r.pod)
	job := b.jobs[r.job]
	delete(job.ranks, r.name)
	if len(job.ranks) == 0 {
		job.active = 0
		delete(b.jobs, r.job)
	}
	b.count(job)
}

// count updates the job's part of the expected ranks.
func (b *Beats) count(job *jobBeats) {
	expected := max(len(job.ranks), job.active)
	b.expected += expected - job.expected
	job.expected = expected
}
