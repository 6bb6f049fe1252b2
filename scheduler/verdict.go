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

// Verdict is what a scheduler says about a gang.
type Verdict struct {
	Admission Admission
	// Judged is true when the scheduler has looked at this gang, so that its silence is a decision and not a
	// delay.
	Judged bool
	// Reason is one CamelCase word and Message the scheduler's own sentence, without anything that changes
	// with every scheduling cycle (ids, ages). Both are empty when there is nothing to say.
	Reason, Message string
	// NextStep is what somebody can do about it; empty when there is nothing to do.
	NextStep string
	// Admitted is the number of ranks that were admitted, by role, for the roles of which fewer were admitted
	// than they have: the lowest indexes, and never fewer than MinAvailable in total. Roles that are absent
	// were admitted in full. It does not change while the gang has pods.
	Admitted map[string]int32
	// Placement by role constrains the nodes that its ranks may run on, where the scheduler decides that.
	// Join applies it.
	Placement map[string]Placement
}
