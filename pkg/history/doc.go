// Package history answers one question: what is known of a job, from versions of it that were seen in any
// order, twice, or in part?
//
//	version ──Of──▶ Record ─┐
//	version ──Of──▶ Record ─┼─ Merge ─▶ Record     the same, whatever the order
//	deleted ──Gone─▶ Record ┘
//
// Of says what one version of a TrainingJob says. Merge joins what is known: it is commutative, associative
// and idempotent, so that restarts, relists, reordered events and several replicas change nothing. Spans says
// when the attempts waited and ran, for the accounting.
//
// # What a record rests on
//
// A record holds evidence, which Merge joins, and conclusions, which Merge draws anew from all evidence:
//
//   - The job as a whole is that of its greatest resource version. Resource versions are compared as
//     Kubernetes defines it (k8s.io/apimachinery/pkg/util/resourceversion).
//   - Transitions are a set. The status keeps the last 20, and says nothing of attempts; an attempt is known
//     because every way from Draining to Restarting, Queued or Suspended begins one, and none other does.
//     Where the status has dropped entries in between, the attempt of those before the gap is unknown.
//   - What an attempt was made of is that of the last version seen in it.
//   - Counts are what the operator had counted when an attempt began. They change only in the write that
//     begins the next one, so that every version of an attempt gives the same, and the difference between two
//     attempts that follow each other is what the end of the first cost.
//   - Samples and checkpoints are sets, of which those with the smallest hashes are kept, and the first and
//     the last: which these are does not depend on the order of arrival either.
//
// # Invariants
//
//   - Merge(a, b) says nothing that neither a nor b says or implies; TestNothingFalse names each way to break
//     it.
//   - What is not known is nil, empty or zero, and its comment says so. Nothing is guessed.
//   - Nothing here knows a client, a context or the clock.
//
// # Limits
//
// A job whose status is mirrored from another cluster begins again at attempt 1 where it is dispatched anew;
// its attempts of the same number are then taken for one. After a restore of etcd, versions with smaller
// resource versions than those that were seen change nothing until they exceed them.
package history
