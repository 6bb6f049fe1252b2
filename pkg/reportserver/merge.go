package reportserver

import (
	"reflect"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Received is what a job's pods have said since this process leads. It is never changed: what follows is a new value.
type Received struct {
	// Report of rank 0, the newest of the newest attempt; nil: none yet. FirstStep, CommandID and DeliveredID stay once they are said.
	Report *checkpoint.Report
	// Time when rank 0 of that attempt was last heard of, also when it said nothing new.
	Time time.Time
	// Commit is the newest one of the newest attempt that has one; nil: none yet.
	Commit *Commit
	// Resolved is the newest result of `agent resolve`, and ResolvedTime when it came; nil: none.
	Resolved     *checkpoint.Report
	ResolvedTime time.Time
}

// Commit is a complete checkpoint by its writer's word. Its URI lies below the job's place.
type Commit struct {
	checkpoint.Save
	Attempt int32
	Layout  checkpoint.Layout
}

// news is what a report tells the reconciler.
type news int

const (
	// nothing: only that the sender lives.
	nothing news = iota
	// later will do: steps, metrics; also a commit and the resolver's result, for what is not persisted of them is urgent by itself.
	later
	// urgent: the end of training, a command that was carried out, an attempt's first step.
	urgent
)

// merge adds a report to what is known. over: its attempt has been followed by another one.
//
// A report may come twice, or after one that was sent later: an agent that gave up on a slow answer sends the next one, and a
// proxy may repeat either. So what is older by its step is heard as a sign of life, and a commit in it still counts when it
// is the newest. Of two reports of the same step the last to come holds: between them only the phase and the metrics can differ.
func (k Received) merge(r *checkpoint.Report, over bool, now time.Time) (Received, news) {
	if r.Phase == checkpoint.PhaseResolved {
		if k.Resolved != nil && k.Resolved.Attempt > r.Attempt {
			return k, nothing
		}
		known := k.Resolved != nil && reflect.DeepEqual(k.Resolved, r)
		k.Resolved, k.ResolvedTime = r, now
		if known {
			return k, nothing
		}
		return k, later
	}
	what := nothing
	if c := commitOf(r); c != nil && c.newerThan(k.Commit) {
		k.Commit, what = c, later
	}
	if over || k.Report != nil && k.Report.Attempt > r.Attempt {
		return k, what
	}
	k.Time = now
	if k.Report != nil && olderThan(r, k.Report) {
		return k, what
	}
	next := inherit(r, k.Report)
	what = max(what, compare(k.Report, next))
	k.Report = next
	return k, what
}

func commitOf(r *checkpoint.Report) *Commit {
	if !committed(r) {
		return nil
	}
	return &Commit{Save: *r.Checkpoint, Attempt: r.Attempt, Layout: r.Layout}
}

func (c *Commit) newerThan(known *Commit) bool {
	return known == nil || c.Attempt > known.Attempt || c.Attempt == known.Attempt && c.Step > known.Step
}

// olderThan compares reports of one attempt, or a later one with one that is known.
func olderThan(r, known *checkpoint.Report) bool {
	if r.Attempt != known.Attempt {
		return r.Attempt < known.Attempt
	}
	back := known.Phase == checkpoint.PhaseCompleted && r.Phase != checkpoint.PhaseCompleted
	return r.Step < known.Step || r.Step == known.Step && back
}

// inherit what is said once.
func inherit(r, known *checkpoint.Report) *checkpoint.Report {
	if known == nil || known.Attempt != r.Attempt {
		return r
	}
	next := *r
	if next.FirstStep == nil {
		next.FirstStep = known.FirstStep
	}
	if next.CommandID == "" {
		next.CommandID = known.CommandID
	}
	if next.DeliveredID == "" {
		next.DeliveredID = known.DeliveredID
	}
	return &next
}

func compare(known, next *checkpoint.Report) news {
	if known == nil || known.Attempt != next.Attempt {
		known = &checkpoint.Report{}
	}
	switch {
	case next.Phase == checkpoint.PhaseCompleted && known.Phase != checkpoint.PhaseCompleted,
		next.CommandID != known.CommandID,
		next.FirstStep != nil && known.FirstStep == nil:
		return urgent
	case reflect.DeepEqual(known, next):
		return nothing
	}
	return later
}
