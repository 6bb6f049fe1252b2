package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Traits are what the operator must know of a dialect besides its translation. They never change while the
// operator runs. The zero value suits a scheduler that needs no special treatment.
type Traits struct {
	// Installation tells an admin how to make the cluster serve the dialect's kinds, as a phrase that can
	// follow a semicolon. Empty: install the scheduler.
	Installation string
	// ClusterKinds are the cluster-scoped kinds whose objects the backend finds in Gang.ClusterObjects, in
	// every call.
	ClusterKinds []schema.GroupVersionKind
	// ManagedBy is the spec.managedBy of jobs that the scheduler dispatches to other clusters. The operator of
	// such a cluster runs a copy of the job. Here only the objects of Objects stand for the gang, and the
	// scheduler mirrors the copy's status. Empty: it dispatches none.
	ManagedBy string
	// PodsFirst: the scheduler judges a gang by its pods, which therefore exist before it is admitted. Pods
	// that no node can ever take would use up a namespace's quota for as long as they wait, and starve gangs
	// that fit (see Unplaceable).
	PodsFirst bool
	// PreemptsGangs: a scheduler that preempts a gang deletes all its ranks itself, one after the other. The
	// operator leaves them to it until it has finished.
	PreemptsGangs bool
	// WaitingClasses: the scheduler does not preempt for a gang whose pods have the preemption policy Never.
	// It still places the gang, at its priority, once there is capacity. Only a Preemptor has this trait.
	WaitingClasses bool
}

// Preemptor is a Backend whose scheduler preempts by the priorities of gangs alone, so that the victims it
// may choose can be computed. Any other scheduler chooses by quotas of its own.
type Preemptor interface {
	Backend
	// MayPreempt reports whether the scheduler may preempt a running gang of its own for a waiting one of a
	// higher priority, as far as the two tell. Whether the scheduler is configured to preempt does not matter.
	MayPreempt(waiting, running Contender) bool
}

// Contender is one of two gangs that contend for nodes.
type Contender struct {
	// Queue in the scheduler's sense; empty means the scheduler's default.
	Queue string
	// Pods of the gang that runs, with their labels and annotations. Read-only.
	Pods []*corev1.Pod
}

// Explainer is a Backend that has reasons of its own: a queue that is missing or closed, a quota that is used
// up, an admission check that is pending. The function Explain finds the reasons that hold for any scheduler
// (nodes, volumes, the order of waiting).
type Explainer interface {
	Backend
	// StateKinds are the kinds whose objects Explain reads from ClusterState.Objects. They are watched where
	// the cluster serves them and the backend's own Kinds.
	StateKinds() []schema.GroupVersionKind
	// Matters reports whether a change of such an object may change a reason, and not only its numbers; if
	// so, all waiting jobs are reconciled at once. Before is nil for a new object, after for a deleted one.
	Matters(before, after client.Object) bool
	// Explain returns why the gang waits, from its own objects and the state of the cluster, and false when
	// this dialect has no reason. It is called only while a job waits.
	Explain(Gang, []client.Object, ClusterState) (Explanation, bool)
}

// Waker is a Backend whose scheduler may rest although a gang fits: it has rejected the gang, and not every
// event that could help makes it try again. The operator then wakes it by changing an object that it watches.
type Waker interface {
	Backend
	// NeedsWake returns why the scheduler may not try the gang again by itself, as a sentence whose subject is
	// the scheduler, and false if it tries often or has not rejected the gang. It is called only for gangs for
	// which the nodes have room.
	NeedsWake(Gang, []client.Object, ClusterState) (why string, needs bool)
	// WokenBy is the kind of the objects whose change wakes the scheduler: one of Kinds, any change of the
	// gang's group; or PodKind, any change of a waiting pod, for that pod alone.
	WokenBy() schema.GroupVersionKind
}

// QuotaSystem is a Backend whose scheduler admits gangs by quotas of its own, from objects that stand for the
// gangs. It does not follow the gang's pods: the operator reports on them. The scheduler of any other Backend
// watches the pods itself.
//
// A finished job keeps the objects of such a dialect, because they are part of its history. A job that is
// suspended or gave up its place in the queue does not.
type QuotaSystem interface {
	Backend
	// SyncStatus returns the writes, in order, that bring those of the gang's objects that exist up to date;
	// none when they are. It is pure and safe against crashes: it is called in every reconcile, and what was
	// written and read back is not written again. It removes the operator's finalizer from an object that is
	// being deleted or whose job is deleted.
	SyncStatus(Gang, GangStatus, []client.Object) []Write
	// Adopts returns the kind and the name of an object that was made for the gang in advance; without a name
	// there is none. The object becomes the job's own, by its controller reference, unless it has another
	// controller: what Objects returns of that name is applied to it, and never created. Until it is the
	// job's, Read gets it too.
	Adopts(Gang) (schema.GroupVersionKind, string)
	// TakesPreemptionGate reports whether the gang's group may have a gate; the answer never changes. The
	// scheduler preempts for no gang whose gate is closed, and still admits it once it fits. Gates may be
	// switched off in the scheduler, which then ignores them.
	TakesPreemptionGate(Gang) bool
	// Contest describes how a gang takes part in the contest for quotas, by its group's objects and what one
	// rank of each role requests; false: its group does not exist, or the quotas are not known.
	Contest(group []client.Object, requests map[string]Amounts, s ClusterState) (Contest, bool)
}

// Capabilities are what a backend can do besides its translation. A nil field means that it cannot.
type Capabilities struct {
	Traits
	Preemptor   Preemptor
	Explainer   Explainer
	Waker       Waker
	QuotaSystem QuotaSystem
}

// Of returns the capabilities of a backend; none for nil.
func Of(b Backend) Capabilities {
	if b == nil {
		return Capabilities{}
	}
	c := Capabilities{Traits: b.Traits()}
	c.Preemptor, _ = b.(Preemptor)
	c.Explainer, _ = b.(Explainer)
	c.Waker, _ = b.(Waker)
	c.QuotaSystem, _ = b.(QuotaSystem)
	return c
}
