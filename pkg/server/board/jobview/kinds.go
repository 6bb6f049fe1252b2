package jobview

import "slices"

// Kind of a bar or a mark. It is also their class.
type Kind string

// Kinds of bars: what the attempt did.
const (
	Waiting   Kind = "waiting"   // for the operator or the scheduler
	Backoff   Kind = "backoff"   // for the time of its restart
	Suspended Kind = "suspended" // by its user
	Starting  Kind = "starting"
	Running   Kind = "running"
	Draining  Kind = "draining"
)

// Kinds of marks: what happened.
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

// Says is what a kind is called.
func (k Kind) Says() string {
	switch k {
	case Backoff:
		return "backing off"
	case Saved:
		return "checkpoint"
	}
	return string(k)
}

// Mark reports whether it is a moment, not a time.
func (k Kind) Mark() bool {
	return slices.Index(kinds, k) >= slices.Index(kinds, Saved) || k == Resumed
}
