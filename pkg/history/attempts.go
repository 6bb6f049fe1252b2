package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// conclude derives the conclusions of a record from its evidence.
func conclude(r *Record) {
	of := ofAttempts(r.Transitions)
	concludeAttempts(r, of)
	concludePreemptions(r, of)
	concludeKind(r)
	if r.Job.Deleted != nil {
		r.Job.DeletedBefore = nil
	}
}

// concludeAttempts lists every known attempt, with the times at which it was queued, ran and ended.
func concludeAttempts(r *Record, of map[int32][]Transition) {
	known := map[int32]Attempt{}
	for _, a := range r.Attempts {
		if a.ResourceVersion != "" {
			known[a.Number] = a
		}
	}
	for number := range of {
		if _, ok := known[number]; !ok && began(of[number], number) {
			known[number] = Attempt{Number: number}
		}
		if _, ok := known[number-1]; !ok && number > 1 {
			if _, settled := settlement(of, number-1); settled {
				known[number-1] = Attempt{Number: number - 1}
			}
		}
	}
	r.Attempts = nil
	for number, a := range known {
		a.Seen = a.ResourceVersion != ""
		concludeTimes(&a, of)
		a.Lost = lost(r, number)
		r.Attempts = append(r.Attempts, a)
	}
	slices.SortFunc(r.Attempts, func(a, b Attempt) int { return cmp.Compare(a.Number, b.Number) })
}

// began reports whether transitions show that the gang of an attempt was submitted to its scheduler.
func began(ts []Transition, number int32) bool {
	return slices.ContainsFunc(ts, func(t Transition) bool {
		switch t.Phase {
		case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
			return t.Attempt == number
		}
		return false
	})
}

// concludeTimes sets when and how the attempt was queued, started and ended.
func concludeTimes(a *Attempt, of map[int32][]Transition) {
	ts := of[a.Number]
	a.Queued, a.EndPhase, a.EndReason = nil, "", ""
	for i := range ts {
		if ts[i].Phase == v1alpha1.PhaseQueued {
			a.Queued = &ts[i].Time // the last one
		}
	}
	a.Started = timeOf(entered(ts, v1alpha1.PhaseRunning))
	drain, drained := entered(ts, v1alpha1.PhaseDraining)
	final, finished := entered(ts, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed)
	if a.Ended = timeOf(drain, drained); !drained {
		a.Ended = timeOf(final, finished)
	}
	if next, settled := settlement(of, a.Number); settled && !finished {
		a.EndPhase, a.EndReason = next.Phase, next.Reason
	} else if finished {
		a.EndPhase, a.EndReason = final.Phase, final.Reason
	} else if drained {
		a.EndPhase, a.EndReason = drain.Phase, drain.Reason
	}
}

// settlement returns the transition that settled the end of an attempt and began the next one, if known: the
// next attempt's Restarting, its Queued without a backoff or suspension before, or its Suspended if the
// suspension ended the attempt.
func settlement(of map[int32][]Transition, number int32) (Transition, bool) {
	for _, t := range of[number+1] {
		switch t.Phase {
		case v1alpha1.PhaseRestarting:
			return t, true
		case v1alpha1.PhaseQueued:
			if t.Reason != v1alpha1.ReasonBackoffOver && t.Reason != v1alpha1.ReasonResumed &&
				t.Reason != v1alpha1.ReasonQueued {
				return t, true
			}
		case v1alpha1.PhaseSuspended:
			drain, drained := entered(of[number], v1alpha1.PhaseDraining)
			if drained && drain.Reason == v1alpha1.ReasonSuspended {
				return t, true
			}
		}
	}
	return Transition{}, false
}

// lost returns the loss of an attempt: the difference between the counters at its start and at the start of
// the next one, or at the job's failure.
func lost(r *Record, number int32) *Loss {
	before, known := countsAt(r, number)
	if !known {
		return nil
	}
	if after, known := countsAt(r, number+1); known {
		return new(after.Lost.minus(before.Lost))
	}
	if r.Job.Phase == v1alpha1.PhaseFailed && r.Job.Attempt == number {
		return new(lossOf(r.Job.Work).minus(before.Lost))
	}
	return nil
}

func (l Loss) minus(o Loss) Loss {
	return Loss{
		Steps: l.Steps - o.Steps, Seconds: l.Seconds - o.Seconds, GPUSeconds: l.GPUSeconds - o.GPUSeconds,
	}
}

// countsAt returns the counters at the start of an attempt. They are zero before the first one.
func countsAt(r *Record, number int32) (Counts, bool) {
	i, found := slices.BinarySearchFunc(r.Counts, number, func(c Counts, n int32) int {
		return cmp.Compare(c.Attempt, n)
	})
	if found {
		return r.Counts[i], true
	}
	return Counts{Attempt: number}, number == 1
}

// concludeKind sets the job's kind of GPU from the latest attempt with a known product: after the job has
// left its nodes, only the resource is known.
func concludeKind(r *Record) {
	for _, a := range slices.Backward(r.Attempts) {
		if isProduct(a.GPUKind) {
			r.Job.GPUKind = a.GPUKind
			return
		}
	}
}

// betterKind returns the more specific of two kinds: a product, else a resource's name, else nothing.
func betterKind(a, b string) string {
	if isProduct(a) != isProduct(b) {
		if isProduct(a) {
			return a
		}
		return b
	}
	return max(a, b)
}
func isProduct(kind string) bool { return kind != "" && !strings.Contains(kind, "/") }

// joinAttempts takes each attempt from its latest version.
func joinAttempts(a, b []Attempt) []Attempt {
	byNumber := map[int32]Attempt{}
	for _, next := range slices.Concat(a, b) {
		had, known := byNumber[next.Number]
		if !known {
			byNumber[next.Number] = next
			continue
		}
		kind := betterKind(had.GPUKind, next.GPUKind)
		had.GPUKind, next.GPUKind = "", ""
		if later(next.ResourceVersion, had.ResourceVersion, func() bool {
			return canonical(evidence(next)) > canonical(evidence(had))
		}) {
			had = next
		}
		had.GPUKind = kind
		byNumber[next.Number] = had
	}
	all := make([]Attempt, 0, len(byNumber))
	for _, a := range byNumber {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Attempt) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// evidence returns an attempt without conclusions.
func evidence(a Attempt) Attempt {
	a.Queued, a.Started, a.Ended, a.EndPhase, a.EndReason, a.Lost, a.Seen = nil, nil, nil, "", "", nil, false
	return a
}

// joinCounts returns the union of two sets. Versions of one attempt differ only in Freed, which grows while
// the attempt waits; otherwise the greater counts.
func joinCounts(a, b []Counts) []Counts {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Counts) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(b.Preemptions, a.Preemptions),
			cmp.Compare(b.Lost.GPUSeconds, a.Lost.GPUSeconds), cmp.Compare(b.Lost.Seconds, a.Lost.Seconds),
			cmp.Compare(b.Lost.Steps, a.Lost.Steps), cmp.Compare(b.Yielded.Asked, a.Yielded.Asked),
			cmp.Compare(b.Yielded.Saved, a.Yielded.Saved),
			cmp.Compare(b.Yielded.LostGPUSeconds, a.Yielded.LostGPUSeconds))
	})
	joined := all[:0]
	for _, c := range all {
		if n := len(joined); n > 0 && joined[n-1].Attempt == c.Attempt {
			joined[n-1].Freed = joined[n-1].Freed.later(c.Freed)
			continue
		}
		joined = append(joined, c)
	}
	return joined
}

// earliest returns the earlier of two times; nil is unknown.
func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
