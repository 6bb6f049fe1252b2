package history

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Span is a time in which an attempt waited or ran.
type Span struct {
	Attempt int32
	// Running: from Running until the attempt began to end; else it waited, from Queued until it ran, was
	// suspended or ended.
	Running bool
	From    time.Time
	// To is nil while the span is open, or if its end is unknown.
	To *time.Time
	// Open reports whether the span has not ended, as far as is known.
	Open bool
	// GPUs of the gang, its kind and queue. If the attempt was not observed, Assumed is true and they are
	// those of the next observed attempt, else of the job.
	GPUs    int64
	GPUKind string
	Queue   string
	Assumed bool
}

// Spans returns the times in which the job's attempts waited and ran, by attempt. Unobserved times that no
// status has are missing. A span without To that is not Open has an unknown end.
func (r *Record) Spans() []Span {
	var spans []Span
	of := ofAttempts(r.Transitions)
	for i, a := range r.Attempts {
		made := madeOf(r, i)
		for _, s := range append(waits(of[a.Number]), runs(&a)...) {
			s.Attempt = a.Number
			s.GPUs, s.GPUKind, s.Queue, s.Assumed = made.GPUs, made.GPUKind, made.Queue, !a.Seen
			if s.To == nil {
				s.To, s.Open = r.end(a.Number)
			}
			if s.To != nil && s.To.Before(s.From) {
				s.To = &s.From // the times are from two clocks
			}
			spans = append(spans, s)
		}
	}
	return spans
}

// madeOf returns the attempt whose GPUs, kind and queue an attempt had, or is assumed to have had.
func madeOf(r *Record, i int) Attempt {
	made := Attempt{GPUs: r.Job.GPUs, GPUKind: r.Job.GPUKind, Queue: r.Job.Queue}
	for _, a := range r.Attempts[i:] {
		if a.Seen {
			made = a
			break
		}
	}
	if !isProduct(made.GPUKind) && isProduct(r.Job.GPUKind) {
		made.GPUKind = r.Job.GPUKind // its nodes were not observed
	}
	return made
}

// waits returns the times in which an attempt was queued. ts are its transitions in order.
func waits(ts []Transition) []Span {
	var spans []Span
	for i, t := range ts {
		if t.Phase != v1alpha1.PhaseQueued {
			continue
		}
		s := Span{From: t.Time}
		for _, next := range ts[i+1:] {
			if next.Phase != v1alpha1.PhaseStarting { // it has nodes, but does not train yet
				s.To = &next.Time
				break
			}
		}
		spans = append(spans, s)
	}
	return spans
}

func runs(a *Attempt) []Span {
	if a.Started == nil {
		return nil
	}
	return []Span{{Running: true, From: *a.Started, To: a.Ended}}
}

// end returns when the last known phase of an attempt ended: at the job's deletion, or nil if unknown. It is
// open in the last attempt of a job that still exists.
func (r *Record) end(number int32) (at *time.Time, open bool) {
	j := &r.Job
	if j.Attempt > number || j.Phase.Finished() || r.Attempts[len(r.Attempts)-1].Number > number {
		return nil, false
	}
	return j.Deleted, j.Deleted == nil && j.DeletedBefore == nil
}

// Ending is the loss at the end of an attempt, or of several that were not observed separately.
type Ending struct {
	// Attempt is the last of those that ended.
	Attempt int32
	// Time at which it began to end, else the start of the next one.
	Time    time.Time
	Lost    Loss
	Yielded Yielded
	// Queue and GPUKind of the attempt, as in a Span.
	Queue, GPUKind string
}

// Endings returns all counted losses and all checkpoint requests before a preemption, in order. Their sum is
// the job's loss when it was last observed, even if few versions were.
func (r *Record) Endings() []Ending {
	counts := r.Counts
	if len(counts) == 0 || counts[0].Attempt > 1 {
		counts = append([]Counts{{Attempt: 1}}, counts...)
	}
	if r.Job.Phase == v1alpha1.PhaseFailed {
		final := Counts{Attempt: r.Job.Attempt + 1, Lost: lossOf(r.Job.Work), Yielded: yieldedOf(r.Job.Work)}
		counts = append(counts[:len(counts):len(counts)], final)
	}
	var endings []Ending
	for i := 1; i < len(counts); i++ {
		before, after := counts[i-1], counts[i]
		e := Ending{
			Attempt: after.Attempt - 1, Lost: after.Lost.minus(before.Lost),
			Yielded: after.Yielded.minus(before.Yielded),
		}
		if e.Lost == (Loss{}) && e.Yielded == (Yielded{}) {
			continue
		}
		e.Time = r.endOf(e.Attempt)
		e.Queue, e.GPUKind = r.madeIn(e.Attempt)
		endings = append(endings, e)
	}
	return endings
}

// endOf returns when an attempt began to end, else when the next one is first known, else the job's creation.
func (r *Record) endOf(number int32) time.Time {
	for _, a := range r.Attempts {
		if a.Number == number && a.Ended != nil {
			return *a.Ended
		}
	}
	for _, t := range r.Transitions {
		if t.Attempt > number {
			return t.Time
		}
	}
	return r.Job.Created
}
