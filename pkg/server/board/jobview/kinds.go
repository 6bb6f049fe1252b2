package jobview

import "slices"

// Kind of a bar or a mark, and its class.
type Kind string

// Kinds of bars: states of an attempt.
const (
	Waiting   Kind = "waiting"   // for the operator or the scheduler
	Backoff   Kind = "backoff"   // before its restart
	Suspended Kind = "suspended" // by its user
	Starting  Kind = "starting"
	Running   Kind = "running"
	Draining  Kind = "draining"
)

// Kinds of marks: events.
const (
	Saved     Kind = "saved" // a complete checkpoint
	Preempted Kind = "preempted"
	Failed    Kind = "failed"
	Succeeded Kind = "succeeded"
	Resumed   Kind = "resumed" // in curves: a new attempt began
)

// kinds in the order of the legend.
var kinds = []Kind{
	Waiting, Backoff, Suspended, Starting, Running, Draining, Saved, Preempted, Failed, Succeeded,
}

// Label of a kind in the legend.
func (k Kind) Label() string {
	switch k {
	case Backoff:
		return "backing off"
	case Saved:
		return "checkpoint"
	}
	return string(k)
}

// Mark reports whether it is a moment.
func (k Kind) Mark() bool {
	return slices.Index(kinds, k) >= slices.Index(kinds, Saved) || k == Resumed
}
