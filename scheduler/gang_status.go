package scheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GangStatus is the state of a gang for SyncStatus.
type GangStatus struct {
	// Gone is true when the job was deleted or another job has its name. The Gang then has only Name,
	// Namespace and Owner.
	Gone bool
	// PodsLeft is the number of pods, of any attempt, that may still run.
	PodsLeft int32
	// Elsewhere is the number of a Dispatched gang's ranks that run in another cluster, by the last mirrored
	// status. It may be outdated if that cluster cannot be reached.
	Elsewhere int32
	// Ready is true when at least MinAvailable ranks run or have succeeded.
	Ready bool
	// Over is true when the outcome of the job is final and no rank will start again. Ended then counts, by
	// role, the ranks that have no pod that may still run; it never decreases.
	Over  bool
	Ended map[string]int32
	// Finished is true when the job is over and no pod is left. Success is its outcome and Message its last
	// message.
	Finished, Success bool
	Message           string
	// MayPreempt is true when the scheduler may preempt for a gang that waits behind a PreemptionGate.
	MayPreempt bool
	// Spare: a QuotaSystem's scheduler should preempt others of the same value before this running gang; nil:
	// unknown.
	Spare *bool
	// Now is the time for conditions, in whole seconds.
	Now metav1.Time
}

// Write is one write to an object of the gang, in addition to what Objects applies.
type Write struct {
	// Base is the object as it was read and Object as it should be: the operator sends the difference as a
	// merge patch that fails when the object has changed since. Without Base, the operator sends Object by
	// server-side apply as FieldOwner.
	Base, Object client.Object
	// Subresource is the subresource to write, such as "status"; empty means the object itself.
	Subresource string
	// FieldOwner is the field manager; empty means the operator's own.
	FieldOwner string
	// Why is the purpose of the write in a few words, for the log.
	Why string
}
