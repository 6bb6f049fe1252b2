package scheduler

// Paths of the TrainingJob's fields that Validate reports errors for.
const (
	PathName          = "metadata.name"
	PathQueue         = "spec.runPolicy.schedulingPolicy.queue"
	PathMinAvailable  = "spec.runPolicy.schedulingPolicy.minAvailable"
	PathMinResources  = "spec.runPolicy.schedulingPolicy.minResources"
	PathTopology      = "spec.runPolicy.schedulingPolicy.topology"
	PathPriorityClass = "spec.runPolicy.schedulingPolicy.priorityClass"
)
