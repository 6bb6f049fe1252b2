package timeline

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Source of a timeline.
type Source string

const (
	// FromHistory: the record in the history, completed from the job's status.
	FromHistory Source = "history"
	// FromStatus: the job's status alone, which keeps the last 20 transitions.
	FromStatus Source = "status"
)

// Timeline is what has happened to a job.
type Timeline struct {
	Source Source  `json:"source" enum:"history,status" doc:"history: what the server has recorded. status: what the job's own status keeps, since the history does not know the job yet or cannot be read."`
	Items  []Entry `json:"items" nullable:"false" doc:"The oldest first."`
}

// Kind of an Entry.
type Kind string

const (
	// Created: the job was created.
	Created Kind = "Created"
	// PhaseEntered: the job entered Phase because of Reason.
	PhaseEntered Kind = "Phase"
	// Preempted: the scheduler, an admin or another job ended an attempt.
	Preempted Kind = "Preempted"
	// CheckpointSaved: the operator learned of a complete checkpoint.
	CheckpointSaved Kind = "Checkpoint"
	// Resumed: an attempt began with a checkpoint.
	Resumed Kind = "Resumed"
	// WayPlayed: the operator ended an attempt of a rehearsal in the way Reason, at Step.
	WayPlayed Kind = "WayPlayed"
	// Reserved: the operator keeps capacity for the gang since then. Lapsed: it no longer does, for Reason.
	// HeldBack: the gang fits and waits since then, because capacity is kept for another one. Only the last
	// ones are known.
	Reserved Kind = "Reserved"
	Lapsed   Kind = "Lapsed"
	HeldBack Kind = "HeldBack"
	// RankFailed: a rank failed; only the last one is known.
	RankFailed Kind = "RankFailed"
	// Deleted: the job was deleted. If only an upper bound of the time is known, Message states that.
	Deleted Kind = "Deleted"
	// Gap: events are missing here.
	Gap Kind = "Gap"
)

// Entry is one event.
type Entry struct {
	// Time is nil if unknown; the position of the entry is still right.
	Time    *time.Time     `json:"time,omitempty"`
	Kind    Kind           `json:"kind"`
	Phase   v1alpha1.Phase `json:"phase,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	// Attempt is 0 if it is unknown or the event belongs to no attempt.
	Attempt int32 `json:"attempt,omitempty"`
	// Seconds that the job was in Phase; nil while it is in it, or if unknown.
	Seconds *int64 `json:"seconds,omitempty"`
	// Step and URI of a checkpoint, or the last step of an attempt of a rehearsal.
	Step *int64 `json:"step,omitempty"`
	URI  string `json:"uri,omitempty"`
	// By names the preemptor, in the scheduler's words; empty: unknown.
	By string `json:"by,omitempty"`
	// LostSteps and LostGPUSeconds are the cost of a preemption; nil if unknown.
	LostSteps      *int64 `json:"lostSteps,omitempty"`
	LostGPUSeconds *int64 `json:"lostGPUSeconds,omitempty"`
}

// rank orders entries of the same second.
var rank = map[Kind]int{
	Created: 0, Gap: 1, CheckpointSaved: 2, WayPlayed: 3, RankFailed: 4, Preempted: 5, PhaseEntered: 6,
	Resumed: 7, Reserved: 8, HeldBack: 9, Lapsed: 10, Deleted: 11,
}

// InStatusOnly reports whether only the status of the job has entries of the kind, not the history.
func (k Kind) InStatusOnly() bool {
	switch k {
	case RankFailed, WayPlayed, Reserved, Lapsed, HeldBack:
		return true
	}
	return false
}

// merge inserts others into phases, which are in order of time. An entry without a time follows its attempt.
func merge(phases, others []Entry) []Entry {
	all := slices.Clone(phases)
	slices.SortStableFunc(others, func(a, b Entry) int {
		return cmp.Or(compareTimes(a.Time, b.Time), cmp.Compare(rank[a.Kind], rank[b.Kind]))
	})
	for _, e := range others {
		all = slices.Insert(all, position(all, e), e)
	}
	return all
}

// position returns the index after all earlier entries. An entry without a time comes after its attempt, or
// last if the attempt is unknown.
func position(all []Entry, e Entry) int {
	reached := func(o Entry) bool { return o.Attempt != 0 && o.Attempt <= e.Attempt }
	if e.Time == nil && !slices.ContainsFunc(all, reached) {
		return len(all)
	}
	at := 0
	for i, other := range all {
		switch {
		case e.Time != nil && other.Time != nil:
			if c := other.Time.Compare(*e.Time); c < 0 || c == 0 && rank[other.Kind] <= rank[e.Kind] {
				at = i + 1
			}
		case e.Time == nil && reached(other):
			at = i + 1
		}
	}
	return at
}

// compareTimes sorts unknown times last.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// withDurations sets the duration of each phase whose successor is known.
func withDurations(phases []Entry) []Entry {
	for i := range phases {
		next := i + 1
		if next < len(phases) && phases[i].Kind == PhaseEntered && phases[next].Kind == PhaseEntered {
			phases[i].Seconds = new(max(0, int64(phases[next].Time.Sub(*phases[i].Time)/time.Second)))
		}
	}
	return phases
}
