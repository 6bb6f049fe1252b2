package history

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Yielded is what a gang lost and saved in preemptions by the operator.
type Yielded struct {
	// Asked is how often the trainer was asked for a checkpoint first, and Saved how often nothing was lost
	// then.
	Asked int32 `json:"asked"`
	Saved int32 `json:"saved"`
	// LostGPUSeconds are a part of the losses.
	LostGPUSeconds int64 `json:"lostGPUSeconds"`
}

// FreedCapacity is the capacity that preemptions by the operator freed for a gang.
type FreedCapacity struct {
	// Made is how often other gangs yielded.
	Made int32 `json:"made"`
	// Seconds from when the gang was known not to fit until it was placed.
	Seconds int64 `json:"seconds"`
}

// Answer of a trainer that can be asked for a checkpoint before its gang yields.
type Answer string

// Answers. Empty: unknown, or the operator did not choose the gang.
const (
	AnswerSaved    Answer = "Saved"    // asked, and nothing was lost
	AnswerInVain   Answer = "InVain"   // asked, and something was
	AnswerNotAsked Answer = "NotAsked" // not worth the time, or the trainer does not respond
)

func yieldedOf(w *v1alpha1.WorkStatus) Yielded {
	if w == nil {
		return Yielded{}
	}
	return Yielded{Asked: w.Asked, Saved: w.Saved, LostGPUSeconds: w.PreemptedLostGPUSeconds}
}

func freedOf(w *v1alpha1.WorkStatus) FreedCapacity {
	if w == nil {
		return FreedCapacity{}
	}
	return FreedCapacity{Made: w.RoomMade, Seconds: w.RoomSeconds}
}

func (y Yielded) minus(o Yielded) Yielded {
	return Yielded{
		Asked: y.Asked - o.Asked, Saved: y.Saved - o.Saved, LostGPUSeconds: y.LostGPUSeconds - o.LostGPUSeconds,
	}
}

// later returns the greater of two counts, which only grow.
func (f FreedCapacity) later(o FreedCapacity) FreedCapacity {
	return FreedCapacity{Made: max(f.Made, o.Made), Seconds: max(f.Seconds, o.Seconds)}
}

// answer returns the trainer's answer at the end of an attempt, from the counters before and after.
func answer(r *Record, number int32, reason string) Answer {
	before, knownBefore := countsAt(r, number)
	after, knownAfter := countsAt(r, number+1)
	if reason != v1alpha1.ReasonMakesRoom || !knownBefore || !knownAfter {
		return ""
	}
	switch y := after.Yielded.minus(before.Yielded); {
	case y.Asked == 0:
		return AnswerNotAsked
	case y.Saved > 0:
		return AnswerSaved
	}
	return AnswerInVain
}

// Grant is capacity that others freed for an attempt, or for several that were not observed separately.
type Grant struct {
	// Attempt is the last of those that received it.
	Attempt int32
	// Time at which the attempt was placed, else was first known.
	Time  time.Time
	Freed FreedCapacity
	// Queue and GPUKind of the attempt, as in a Span.
	Queue, GPUKind string
}

// Grants returns all freed capacity, in order. Their sum is what the job had received when it was last
// observed, even if few versions were.
func (r *Record) Grants() []Grant {
	counts := slices.Clone(r.Counts)
	if r.Job.Work != nil { // a failed job has no counts after its last attempt
		counts = joinCounts(counts, []Counts{{Attempt: r.Job.Attempt, Freed: freedOf(r.Job.Work)}})
	}
	var grants []Grant
	var had FreedCapacity
	for _, c := range counts {
		more := FreedCapacity{Made: c.Freed.Made - had.Made, Seconds: c.Freed.Seconds - had.Seconds}
		had = c.Freed
		if more == (FreedCapacity{}) {
			continue
		}
		g := Grant{Attempt: c.Attempt, Freed: more, Time: r.placedAt(c.Attempt)}
		g.Queue, g.GPUKind = r.madeIn(c.Attempt)
		grants = append(grants, g)
	}
	return grants
}

// placedAt returns when an attempt got its nodes, else when it is first known, else the job's creation.
func (r *Record) placedAt(number int32) time.Time {
	of := ofAttempts(r.Transitions)[number]
	if t, placed := entered(of, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning); placed {
		return t.Time
	}
	if len(of) > 0 {
		return of[0].Time
	}
	return r.endOf(number - 1)
}

// madeIn returns the queue and the kind of GPU of an attempt, as in a Span; the job's if the attempt is
// unknown.
func (r *Record) madeIn(number int32) (queue, kind string) {
	at := slices.IndexFunc(r.Attempts, func(a Attempt) bool { return a.Number == number })
	if at < 0 {
		return r.Job.Queue, r.Job.GPUKind
	}
	made := madeOf(r, at)
	return made.Queue, made.GPUKind
}
