package observation

import "time"

// Lifecycle is what the admin has configured of the life of every gang: for how long it may hold what it does
// not use. The file of the operator's configuration has the same settings, in seconds (config.Lifecycle).
type Lifecycle struct {
	// KeepPlace is the longest backoff in which a gang keeps its place in the queue; 0: it keeps none.
	KeepPlace time.Duration
	// StartTimeout is how long a gang may hold its nodes before it runs; 0: for ever.
	StartTimeout time.Duration
	// ForceDelete is how long after its grace period a pod on a node that does not answer is deleted by force;
	// 0: never. It gives up that ranks of two attempts never run together: the node may be cut off, and the
	// rank train on.
	ForceDelete time.Duration
}

// DefaultLifecycle is what holds without a configuration.
func DefaultLifecycle() Lifecycle {
	return Lifecycle{KeepPlace: 2 * time.Minute, StartTimeout: 30 * time.Minute}
}
