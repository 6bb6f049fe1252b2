// Package trainingjob is the pure core of the operator. From the state of a job (its spec and status, its
// pods, its scheduler's verdict, the time) it computes the next actions and the status.
//
// It uses the API, the frameworks, the checkpoint contract and the scheduler interface. It must not use a
// client, a context or the wall clock. Decide is a function from a Snapshot to a Plan; pkg/controller gathers
// the snapshot and carries out the plan.
//
// The core consists of these packages. Each imports only those above it:
//
//	spec         interprets the spec and fills in defaults
//	validation   finds errors in the spec
//	render       renders the Kubernetes objects of the job
//	observation  derives the state of the job from the snapshot
//	decision     has the table of transitions, and plans the actions
//	account      counts ranks, restarts, progress and work for later reconciles
//	status       writes the conditions and messages for users
//	trainingjob  Decide runs all of them once per reconcile; owners.go lists which package writes which field
//
// A plan that is carried out in part, twice or not at all leads to the same end, because every reconcile
// starts from the observed state. The invariants (random_test.go tries to break them):
//
//  1. No pod is created under Hold, nor for an attempt that is not persisted.
//  2. Ranks of two attempts never run together: nothing is created until every pod of another attempt is
//     deleted. A rank ends with its trainer's container, its pod with the last container.
//  3. A gang below minAvailable never stays: it completes or releases everything.
//  4. A disruption never spends backoffLimit, and a failure spends one restart however often it is observed.
//     The cause is settled when the last pod has ended, in the write that raises the attempt, and a
//     disruption outranks exit codes. The first failure to end decides, however many failures a reconcile
//     observes. Exit code 0 of a rank that was stopped is a loss, in every job.
//  5. Succeeded and Failed are final; finished and suspended jobs hold no resources.
//  6. Nothing is written when nothing changed.
//  7. Resume points only move forward, and a checkpoint that is not complete is never one. They move back
//     if a checkpoint is lost, if it is passed over because attempts failed on it, or if the user chooses an
//     older one.
//  8. Host names never resolve to ranks of another attempt. Once all ranks of a gang have an address, they
//     resolve to all of them.
//  9. A gang is restarted for a hang only in mode Act and phase Running, within the limits of its job and of
//     the cluster, by a process that has led for 10 minutes. The write that begins the drain counts it. A
//     beat causes no write and no reconcile.
package trainingjob
