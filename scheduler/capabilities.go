package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Traits are the fixed properties of a dialect, besides its translation. The zero value suits a scheduler
// that needs no special treatment.
type Traits struct {
	// Installation describes for an admin how to make the cluster serve the dialect's kinds, as a phrase that
	// can follow a semicolon. Empty: install the scheduler.
	Installation string
	// ClusterKinds are the cluster-scoped kinds whose objects the backend gets in Gang.ClusterObjects.
	ClusterKinds []schema.GroupVersionKind
	// TopologyKinds are cluster-scoped kinds that describe domains of nodes. A gang with Within gets their
	// objects in Gang.ClusterObjects. The cluster need not serve them.
	TopologyKinds []schema.GroupVersionKind
	// NoPreemptionWithin: the scheduler does not preempt for a gang that must lie within one domain. The
	// operator can still free a domain for it.
	NoPreemptionWithin bool
	// PlacedAcross says why the scheduler may have placed a gang across domains although its group requires
	// one, as a phrase that can follow a colon. Empty: unknown.
	PlacedAcross string
	// ManagedBy is the spec.managedBy of jobs that the scheduler dispatches to other clusters. The operator
	// of such a cluster runs a copy of the job. Here only the objects of Objects stand for the gang, and the
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
	// AdmissionGates: the operator can keep a scheduler with quotas from giving a gang quota, so that the gang
	// can be held back for a reservation. Other schedulers need none: a gang without pods holds nothing.
	AdmissionGates bool
}

// Preemptor is a Backend whose scheduler preempts only by the priorities of gangs, so that the operator can
// compute its victims. Any other scheduler chooses by quotas.
type Preemptor interface {
	Backend
	// MayPreempt reports whether the scheduler may preempt a running gang for a waiting one of a higher
	// priority, if it is configured to preempt.
	MayPreempt(waiting, running Contender) bool
}

// Contender is one of two gangs that contend for nodes.
type Contender struct {
	// Queue in the scheduler's sense; empty means the scheduler's default.
	Queue string
	// Pods of the gang that runs, with their labels and annotations. Read-only.
	Pods []*corev1.Pod
}

// Explainer is a Backend with reasons of its own: a missing or closed queue, an exceeded quota, a pending
// admission check. The function Explain has the reasons that apply to any scheduler (nodes, volumes, the
// order of waiting).
type Explainer interface {
	Backend
	// StateKinds are the kinds whose objects Explain reads from ClusterState.Objects. The operator watches
	// them if the cluster serves them and the backend's own Kinds.
	StateKinds() []schema.GroupVersionKind
	// Matters reports whether a change of such an object may change a reason, and not only its numbers. The
	// operator then reconciles all waiting jobs at once. Before is nil for a new object, after for a deleted
	// one.
	Matters(before, after client.Object) bool
	// Explain returns why the gang waits, from its own objects and the state of the cluster, and false if
	// this dialect has no reason. It is called only while a job waits.
	Explain(Gang, []client.Object, ClusterState) (Explanation, bool)
}

// Waker is a Backend whose scheduler may rest although a gang fits: it has rejected the gang, and not every
// event that could help makes it try again. The operator then wakes it by changing an object that it watches.
type Waker interface {
	Backend
	// NeedsWake returns why the scheduler may not try the gang again by itself, as a sentence whose subject
	// is the scheduler. It returns false if the scheduler tries often or has not rejected the gang. It is
	// called only for gangs for which the nodes have capacity.
	NeedsWake(Gang, []client.Object, ClusterState) (why string, needs bool)
	// WokenBy is the kind of the objects whose change wakes the scheduler: one of Kinds, any change of the
	// gang's group; or PodKind, any change of a waiting pod, for that pod alone.
	WokenBy() schema.GroupVersionKind
}

// QuotaSystem is a Backend whose scheduler admits gangs by quotas of its own, from objects that stand for the
// gangs. It does not watch the gang's pods: the operator reports on them. The schedulers of other Backends
// watch the pods.
//
// A finished job keeps the objects of such a dialect, because they are part of its history. A job that is
// suspended or gave up its place in the queue does not.
type QuotaSystem interface {
	Backend
	// SyncStatus returns the writes, in order, that bring the gang's existing objects up to date; none when
	// they are. It is pure and safe against crashes: it is called in every reconcile, and repeats no write
	// whose result it has read. It removes the operator's finalizer from an object that is being deleted or
	// whose job is deleted.
	SyncStatus(Gang, GangStatus, []client.Object) []Write
	// Adopts returns the kind and the name of an object that was made for the gang in advance; an empty name
	// means none. The job becomes its controller unless it has another one. What Objects returns of that name
	// is applied to it, and never created. Read also gets it before it is the job's.
	Adopts(Gang) (schema.GroupVersionKind, string)
	// TakesPreemptionGate reports whether the gang's group may have a gate; the answer never changes. The
	// scheduler preempts for no gang whose gate is closed, and still admits it once it fits. Gates may be
	// disabled in the scheduler, which then ignores them.
	TakesPreemptionGate(Gang) bool
	// Contest returns a gang's state in the contest for quotas, from its group's objects and what one rank of
	// each role requests. It returns false if its group does not exist or the quotas are unknown.
	Contest(group []client.Object, requests map[string]Amounts, s ClusterState) (Contest, bool)
}

// QueueLimiter is a Backend whose queues limit what their gangs hold together.
type QueueLimiter interface {
	Backend
	// QueueLimits returns the limits that a gang is subject to, those of its own queue first. It returns false
	// if the queue is unknown or admits nothing.
	QueueLimits(Gang, ClusterState) ([]QueueLimit, bool)
}

// QueueLimit is what the gangs of a queue, or of the queues below it, hold together.
type QueueLimit struct {
	// Name of the queue, as users know it; Key is unique in the cluster.
	Name, Key string
	// Limit and Free amounts of the limited resources.
	Limit, Free Amounts
	// Strict: the queue serves no other gang before the first one.
	Strict bool
	// Lends: the scheduler may admit a gang that needs more than what is free.
	Lends bool
	// Reclaims: the scheduler may stop other gangs for one of this queue.
	Reclaims bool
}

// Capabilities are the optional interfaces of a backend; nil if it lacks one.
type Capabilities struct {
	Traits
	Preemptor   Preemptor
	Explainer   Explainer
	Waker       Waker
	QuotaSystem QuotaSystem
	Limiter     QueueLimiter
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
	c.Limiter, _ = b.(QueueLimiter)
	return c
}
