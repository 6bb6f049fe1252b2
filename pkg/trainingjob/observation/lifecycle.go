package observation

import "time"

// Lifecycle configures how long gangs can hold resources that they do not use. The operator's configuration
// file has the same settings, in seconds (config.Lifecycle).
type Lifecycle struct {
	// KeepPlace is the longest backoff in which a gang keeps its place in the queue; 0: it keeps none.
	KeepPlace time.Duration
	// StartTimeout is how long a gang can hold its nodes before it runs; 0: no limit.
	StartTimeout time.Duration
	// ForceDelete is how long after its grace period a pod on a node that does not answer is deleted by
	// force; 0: never. It gives up that ranks of two attempts never run together: the node may be cut off,
	// and the rank train on.
	ForceDelete time.Duration
	// LeaderTrust is how long a process must lead before it restarts a gang that hangs; 0:
	// liveness.LeaderTrustedAfter. Only tests set it.
	LeaderTrust time.Duration
}

// DefaultLifecycle returns the defaults.
func DefaultLifecycle() Lifecycle {
	return Lifecycle{KeepPlace: 2 * time.Minute, StartTimeout: 30 * time.Minute}
}
