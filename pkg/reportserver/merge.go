package reportserver

import (
	"reflect"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// received is what rank 0 of a job has reported to this leader. It is immutable: merge returns a new one.
type received struct {
	// report is the newest one of the newest attempt; nil: none. FirstStep, CommandID, DeliveredID
	// and Rehearsal are sent once, and kept in later reports of the same start.
	report *checkpoint.Report
	// former is the previous start in the same attempt, and formerStep its last step. Its reports can still
	// arrive.
	former     string
	formerStep int64
	// time of the last report of that attempt, with or without news.
	time time.Time
	// commit is the newest one of the newest attempt that has one; nil: none.
	commit *commit
}

// commit is a complete checkpoint below the job's directory.
type commit struct {
	checkpoint.Save
	attempt int32
	layout  checkpoint.Layout
}

// latest returns the observation for the controller, and false before rank 0's first report.
func (k received) latest() (observation.Reported, bool) {
	if k.report == nil {
		return observation.Reported{}, false
	}
	latest := observation.Reported{Report: *k.report, Received: k.time, FormerStep: k.formerStep}
	// A later report of the attempt can have an older commit, or none.
	if k.commit != nil && k.commit.attempt == latest.Attempt {
		save := k.commit.Save
		latest.Checkpoint, latest.Layout = &save, k.commit.layout
	}
	return latest, true
}

// urgency is how soon the reconciler must read a report.
type urgency int

const (
	// noNews: the report only shows that the trainer is alive.
	noNews urgency = iota
	// deferrable: steps, metrics and persisted commits. A commit that is not persisted is urgent for that
	// reason.
	deferrable
	// urgent: the end of training, an executed command, an attempt's first step.
	urgent
)

// merge adds a report. attemptOver: a later attempt has replaced the report's.
//
// A report can arrive twice or late: an agent that gave up on a slow response sends the next one, and a proxy
// can repeat either. A report with an older step only shows that the trainer is alive, but its commit counts
// if it is the newest. Of two reports of the same step the last to arrive counts: they only differ in phase
// and metrics.
//
// The resolver's result is not kept: the operator reads it from the pod's termination message.
func (k received) merge(r *checkpoint.Report, attemptOver bool, now time.Time) (received, urgency) {
	if r.Phase == checkpoint.PhaseResolved {
		return k, noNews
	}
	news := noNews
	if c := commitOf(r); c != nil && c.newerThan(k.commit) {
		k.commit, news = c, deferrable
	}
	if attemptOver || k.report != nil && k.report.Attempt > r.Attempt {
		return k, news
	}
	if r.Start != "" && r.Start == k.former {
		return k, news
	}
	k.time = now
	if k.report != nil && olderThan(r, k.report) {
		return k, news
	}
	switch known := k.report; {
	case known == nil:
	case known.Attempt != r.Attempt:
		k.former, k.formerStep = "", 0
	case known.Start != r.Start:
		k.former, k.formerStep = known.Start, known.Step
	}
	next := inherit(r, k.report)
	news = max(news, newsIn(next, k.report))
	k.report = next
	return k, news
}

func hasCommit(r *checkpoint.Report) bool {
	return r.Checkpoint != nil && r.Checkpoint.State == checkpoint.SaveCommitted
}

func commitOf(r *checkpoint.Report) *commit {
	if !hasCommit(r) {
		return nil
	}
	return &commit{Save: *r.Checkpoint, attempt: r.Attempt, layout: r.Layout}
}

func (c *commit) newerThan(known *commit) bool {
	return known == nil || c.attempt > known.attempt || c.attempt == known.attempt && c.Step > known.Step
}

// olderThan reports whether r precedes known. r is of the same attempt or of a later one.
func olderThan(r, known *checkpoint.Report) bool {
	if r.Attempt != known.Attempt || r.Start != known.Start {
		return r.Attempt < known.Attempt
	}
	reopens := known.Phase == checkpoint.PhaseCompleted && r.Phase != checkpoint.PhaseCompleted
	return r.Step < known.Step || r.Step == known.Step && reopens
}

// inherit copies the fields that are sent once from an earlier report of the same start.
func inherit(r, known *checkpoint.Report) *checkpoint.Report {
	if known == nil || known.Attempt != r.Attempt || known.Start != r.Start {
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
	if len(next.Rehearsal) == 0 {
		next.Rehearsal = known.Rehearsal
	}
	return &next
}

func newsIn(next, known *checkpoint.Report) urgency {
	if known == nil || known.Attempt != next.Attempt || known.Start != next.Start {
		known = &checkpoint.Report{}
	}
	switch {
	case next.Phase == checkpoint.PhaseCompleted && known.Phase != checkpoint.PhaseCompleted,
		next.CommandID != known.CommandID,
		next.FirstStep != nil && known.FirstStep == nil:
		return urgent
	case reflect.DeepEqual(known, next):
		return noNews
	}
	return deferrable
}
