package scheduler

import corev1 "k8s.io/api/core/v1"

// Preemptor is a Backend whose scheduler ends running gangs by their priorities alone, so that it can be said
// from outside whom it may end for whom. A scheduler that is none decides that by quotas of its own.
type Preemptor interface {
	Backend
	// MayPreempt reports whether the scheduler may end a gang of its own that runs for one of a higher priority
	// that waits, as far as the two tell. It is not asked whether it is configured to preempt at all.
	MayPreempt(waiting, running Contender) bool
}

// WaitingClasses is a Preemptor whose scheduler preempts nobody for a gang whose pods have the preemption
// policy Never, and places it all the same, at its priority, once there is room.
type WaitingClasses interface {
	Preemptor
	// UsesWaitingClass reports whether the gang may have a WaitingClass; the answer never changes.
	UsesWaitingClass() bool
}

// Contender is one of two gangs that contend for nodes.
type Contender struct {
	// Queue in the scheduler's sense; empty means the scheduler's default.
	Queue string
	// Pods of the gang that runs, with their labels and annotations. Read-only.
	Pods []*corev1.Pod
}
