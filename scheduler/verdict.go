package scheduler

// Admission is what a scheduler lets a gang do.
type Admission string

const (
	// Hold: create no pods; existing ones stay.
	Hold Admission = "Hold"
	// Go: create the ranks that are missing; existing ones stay.
	Go Admission = "Go"
	// Yield: delete every pod.
	Yield Admission = "Yield"
)

// Verdict is a scheduler's decision about a gang.
type Verdict struct {
	Admission Admission
	// Judged is true when the scheduler has processed this gang, so that a missing message is a decision and
	// not a delay.
	Judged bool
	// Reason is one CamelCase word and Message the scheduler's own sentence, without anything that changes
	// with every scheduling cycle (ids, ages). Both are empty if there is nothing to report.
	Reason, Message string
	// NextStep is what the user or an admin can do; empty: nothing.
	NextStep string
	// Admitted is the number of admitted ranks by role, for roles that were admitted in part: the lowest
	// indexes, and never fewer than MinAvailable in total. Absent roles were admitted in full. It does not
	// change while the gang has pods.
	Admitted map[string]int32
	// Placement by role constrains the nodes that its ranks may run on, where the scheduler decides that.
	// Join applies it.
	Placement map[string]Placement
}
