// Package history derives the history of a job from its versions, observed in any order, repeatedly or with
// gaps.
//
//	version ──Of──▶ Record ─┐
//	version ──Of──▶ Record ─┼─ Merge ─▶ Record     the same, whatever the order
//	deleted ──Gone─▶ Record ┘
//
// Of returns the record of one version of a TrainingJob. Merge is commutative, associative and idempotent, so
// restarts, relists, reordered events and several replicas change nothing. Spans returns when the attempts
// waited and ran, for the accounting.
//
// # Evidence and conclusions
//
// A record has evidence, which Merge joins, and conclusions, which Merge derives from all evidence:
//
//   - The job is that of its greatest resource version. Resource versions are compared as in
//     k8s.io/apimachinery/pkg/util/resourceversion.
//   - Transitions are a set. The status keeps the last 20, without attempts. The attempt follows from them:
//     every transition from Draining to Restarting, Queued or Suspended begins one, and no other does. If the
//     status has dropped entries in between, the attempt of those before the gap is unknown.
//   - The parts of an attempt are those of its last observed version.
//   - Counts are the operator's counters at the start of an attempt. They change only in the write that
//     begins the next one, so every version of an attempt has the same, and the difference between two
//     consecutive attempts is the loss of the first.
//   - Samples and checkpoints are sets, of which the first, the last and those with the smallest hashes are
//     kept. This does not depend on the order of arrival either.
//
// # Invariants
//
//   - Merge(a, b) contains only what a or b contains or implies; TestNothingFalse has each way to break this.
//   - Unknown values are nil, empty or zero, and their comments state that. Nothing is guessed.
//   - The package uses no client, no context and no clock.
//
// # Limits
//
// A job whose status is mirrored from another cluster begins again at attempt 1 when it is dispatched again;
// its attempts with the same number then count as one. After a restore of etcd, versions with smaller
// resource versions than the observed ones change nothing until they exceed them.
package history
