// Package trainingjob is the pure core of the operator. It answers one question: given what is known of a job (its spec
// and status, its pods, what its scheduler says, the time), what is to be done next, and what may be said of it?
//
// It knows the API, the frameworks, the checkpoint contract and the scheduler seam; it may not know a client, a context
// or the wall clock. Decide is a function from a Snapshot to a Plan; pkg/controller gathers the one and carries out the
// other.
//
// The core is built as rooms in the order in which a job is thought about. Each imports only rooms to its left:
//
//	spec, validation ◀─ render ◀─ observation ◀─ decision ◀─ status ◀─ trainingjob
//	what the spec       what it    what is seen    the table,   what is    Decide
//	means, and whether  looks like                 transitions, said
//	it makes sense                                 the plan
//
// A plan that is carried out in part, twice or not at all leads to the same end, because every reconcile starts from what
// is there. The invariants (each has a test that tries to break it, see random_test.go):
//
//  1. No pod is created under Hold, nor for an attempt that is not persisted.
//  2. Ranks of two attempts never run together: nothing is created until every pod of another attempt is gone.
//  3. A gang below minAvailable never stays: it completes or gives everything back.
//  4. A disruption never spends backoffLimit, and a failure spends one however often it is observed: the cause is settled
//     when the last pod has ended, in the write that raises the attempt, and a disruption outranks exit codes.
//  5. Succeeded and Failed absorb; finished and suspended jobs hold nothing.
//  6. Nothing is written when nothing changed.
//  7. Resume points only move forward, and a checkpoint that is not complete is never one.
package trainingjob
