package scheduler

// Dispatcher is a StatusSyncer whose scheduler can have a gang run in another cluster. The operator of that
// cluster then runs a copy of the job; here only the objects of Objects stand for the gang, and the scheduler
// mirrors the copy's status.
type Dispatcher interface {
	StatusSyncer
	// ManagedBy is the spec.managedBy of the jobs that the scheduler dispatches.
	ManagedBy() string
}
