package scheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GangStatus is what has become of a gang.
type GangStatus struct {
	// Gone is true when the job no longer exists or another job has its name. The Gang then holds only Name,
	// Namespace and Owner.
	Gone bool
	// PodsLeft is the number of pods, of any attempt, that may still run.
	PodsLeft int32
	// Elsewhere is the number of a Dispatched gang's ranks that run in another cluster, by the status that was
	// mirrored last. It says nothing about a cluster that can no longer be reached.
	Elsewhere int32
	// Running is true when at least MinAvailable ranks run or have succeeded, Ready when all admitted ranks
	// do.
	Running, Ready bool
	// Over is true when the outcome of the job is settled and no rank will start again. Ended then counts, by
	// role, the ranks without a pod that may still run; it never decreases.
	Over  bool
	Ended map[string]int32
	// Finished is true when the job is over and no pod is left. Success is its outcome and Message its last
	// message.
	Finished, Success bool
	Message           string
	// MayPreempt is true when the scheduler may end others for a gang that waits behind a PreemptionGate.
	MayPreempt bool
	// Spare: a QuotaSystem's scheduler should preempt others of the same value before this running gang; nil
	// while that is not known.
	Spare *bool
	// Now is the time for conditions, in whole seconds.
	Now metav1.Time
}

// Write is one write to an object of the gang, in addition to what Objects applies.
type Write struct {
	// Base is the object as it was read and Object as it should be: the difference is sent as a merge patch
	// that fails when the object has changed since. Without Base, Object is sent by server-side apply as
	// FieldOwner.
	Base, Object client.Object
	// Subresource is the subresource to write, such as "status"; empty means the object itself.
	Subresource string
	// FieldOwner is the field manager; empty means the operator's own.
	FieldOwner string
	// Why says in a few words what the write is for, for the log.
	Why string
}
