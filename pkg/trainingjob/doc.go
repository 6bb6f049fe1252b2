// Package trainingjob is the pure core of the operator. It answers one question: given what is known of a job
// (its spec and status, its pods, its scheduler's verdict, the time), what is to be done next, and what does
// its status say?
//
// It knows the API, the frameworks, the checkpoint contract and the scheduler seam. It may not use a client,
// a context or the wall clock. Decide is a function from a Snapshot to a Plan; pkg/controller gathers the
// snapshot and carries out the plan.
//
// The core is a row of packages, in the order in which a job is thought about. Each imports only those above
// it:
//
//	spec         what does the spec mean?
//	validation   what is wrong with the spec?
//	render       what does the job look like in the cluster?
//	observation  what is seen of the job?
//	decision     what is to be done now? (the table of transitions, and the plan)
//	account      what is counted and carried to the next reconcile?
//	status       what does a user read of the job?
//	trainingjob  Decide: all of it, once per reconcile; owners.go: which room writes which field of the status
//
// A plan that is carried out in part, twice or not at all leads to the same end, because every reconcile
// starts from what is there. The invariants (random_test.go tries to break them):
//
//  1. No pod is created under Hold, nor for an attempt that is not persisted.
//  2. Ranks of two attempts never run together: nothing is created until every pod of another attempt is
//     gone.
//  3. A gang below minAvailable never stays: it completes or gives everything back.
//  4. A disruption never spends backoffLimit, and a failure spends one restart however often it is observed.
//     The cause is settled when the last pod has ended, in the write that raises the attempt, and a
//     disruption outranks exit codes. Of failures the first to end decides; how many of them a pass happens
//     to see changes nothing. Exit code 0 of a rank that was told to end is a loss, in every job.
//  5. Succeeded and Failed absorb; finished and suspended jobs hold nothing.
//  6. Nothing is written when nothing changed.
//  7. Resume points only move forward, and a checkpoint that is not complete is never one. They move back
//     where a checkpoint is lost, is passed over since attempts failed on it, or the user chooses an older
//     one.
//  8. Host names never lead from one attempt to ranks of another; once all ranks of a gang have an address,
//     they lead to all of them.
package trainingjob
