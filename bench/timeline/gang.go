package timeline

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// never marks a time that has not come.
const never = time.Duration(-1)

// gang is what is known of one gang.
type gang struct {
	spec workload.Gang
	pods map[types.UID]State
	// Numbers of pods by state; ending are those that hold GPUs meanwhile.
	pending, bound, running, ending int

	// Times of what happened first, or never. placed is when all ranks were bound at the same time.
	submitted, admitted, created, firstBound, placed, ran, finished time.Duration

	// attempt counts the beginnings of its training. since is when the current one began, or never.
	attempt int
	since   time.Duration
	// saved is the training that an interruption cannot take; lost was done in vain; trained includes lost.
	saved, lost, trained time.Duration
	// interrupted is when its training was last interrupted, or never when it trains.
	interrupted   time.Duration
	interruptions int
	resumes       []time.Duration
}

func newGang(spec workload.Gang) *gang {
	return &gang{
		spec: spec, pods: make(map[types.UID]State, spec.Ranks),
		submitted: never, admitted: never, created: never, firstBound: never, placed: never, ran: never,
		finished: never, since: never, interrupted: never,
	}
}

func (g *gang) training() bool { return g.since >= 0 }

// left is how long it must train yet, counted from the beginning of the current attempt.
func (g *gang) left() time.Duration {
	if g.spec.Train == 0 {
		return 0
	}
	return g.spec.Train - g.saved
}

func (g *gang) see(e Event) {
	if before, ok := g.pods[e.UID]; ok {
		g.add(before, -1)
	}
	g.pods[e.UID] = e.State
	if e.State == Gone {
		delete(g.pods, e.UID)
	}
	g.add(e.State, 1)
	if g.finished >= 0 {
		return // what its pods do now concerns only the GPUs that they hold
	}
	n := g.spec.Ranks
	if g.pending+g.bound+g.running >= n {
		first(&g.created, e.At)
	}
	if g.bound+g.running > 0 {
		first(&g.firstBound, e.At)
	}
	if g.bound+g.running >= n {
		first(&g.placed, e.At)
	}
	switch complete := g.running >= n; {
	case complete && !g.training():
		g.begin(e.At)
	case !complete && g.training():
		g.interrupt(e.At)
	}
}

// add counts pods in a state.
func (g *gang) add(s State, n int) {
	switch s {
	case Pending:
		g.pending += n
	case Bound:
		g.bound += n
	case Running:
		g.running += n
	case Ending:
		g.ending += n
	}
}

// begin of an attempt.
func (g *gang) begin(at time.Duration) {
	first(&g.ran, at)
	g.attempt++
	g.since = at
	if g.interrupted >= 0 {
		g.resumes = append(g.resumes, at-g.interrupted)
		g.interrupted = never
	}
}

// interrupt takes the gang back to its latest save.
func (g *gang) interrupt(at time.Duration) {
	did := at - g.since
	kept := time.Duration(0)
	if every := g.spec.Checkpoint; every > 0 {
		kept = did / every * every
	}
	g.trained += did
	g.saved += kept
	g.lost += did - kept
	g.since = never
	g.interrupted = at
	g.interruptions++
}

// finish is the end of its training.
func (g *gang) finish(at time.Duration) {
	g.trained += at - g.since
	g.since = never
	g.finished = at
}

// end records the deletion of the gang by its user. Its work is not lost, because it is not repeated.
func (g *gang) end(at time.Duration) {
	if g.training() {
		g.finish(at)
		return
	}
	g.finished = at
}

// trainedBy is how long it has trained by the end of the run.
func (g *gang) trainedBy(end time.Duration) time.Duration {
	if g.training() {
		return g.trained + end - g.since
	}
	return g.trained
}

func first(t *time.Duration, at time.Duration) {
	if *t < 0 {
		*t = at
	}
}
