// Package preemption answers one question: which running gangs should make room for one that waits, and what
// would that cost? It knows no client and no clock; who acts on its answer is not its concern.
//
//	gang.go       who runs, who waits, and what admins have set
//	cost.go       what the end of a gang costs, in GPU-seconds, and how it had best be ended
//	space.go      how many ranks of a gang fit on the nodes, with what some gangs hold
//	cover.go      the cheapest gangs that make enough room together
//	search.go     the same, exactly, where they are few
//	choose.go     for all that wait: by priority, then by age, each from what the ones before have left
//	room_left.go  what outstanding plans leave
//	plan.go       a plan, and when each of its victims gives way
//	advance.go    what becomes of it: its victims are asked and released together; the scheduler has the room,
//	              or others have taken it; another round, or the scheduler preempts by itself
//
// # Rules
//
//   - A victim's value is strictly below its preemptor's. Of all covers those are taken whose most valuable
//     victim is worth least; among these the cheapest.
//   - A gang that has not run for long is protected: ending it soon after its start would undo what its start
//     has cost. Protection ends once the preemptor has waited for half of the delay that it may be asked to
//     bear.
//   - A trainer cannot raise its own price by what it claims: unsaved work counts from when the operator
//     heard of a commit, and never more than LossCap of it.
//   - What an outstanding plan has claimed is not given away again.
package preemption
