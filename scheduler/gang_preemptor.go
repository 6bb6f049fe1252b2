package scheduler

// GangPreemptor is a Backend whose scheduler, when it preempts a gang, ends all its ranks by itself, one
// after the other. Until it is through, the operator leaves the rest to it.
type GangPreemptor interface {
	Backend
	// PreemptsGangs reports whether it does; the answer never changes.
	PreemptsGangs() bool
}
