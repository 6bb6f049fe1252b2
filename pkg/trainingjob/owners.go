package trainingjob

// room is a package of the core that writes fields of the status.
type room string

const (
	decisionRoom room = "decision"
	accountRoom  room = "account"
	statusRoom   room = "status"
	// noRoom owns nothing: its step may only restore what is persisted.
	noRoom room = ""
)

// owners lists the fields of the status that each room writes; no other room does. A path stands for
// everything below it, except for what a longer path names. The owner of an object may remove it as a unit.
// TestOwners checks this in every story and every random history.
//
// Later decisions and the preemption planner read the fields of decision and account. Of the fields of
// status they read the blocker's reason and message, and the plan in scheduling.preemption.
var owners = map[room][]string{
	decisionRoom: {
		"phase", "attempt", "preemptions", "disruptions", "replicas", "minAvailable", "selector", "gpus",
		"nextAttemptTime", "lastFailure", "transitions", "startTime", "completionTime", "observedGeneration",
		"revision", "restartRequest", "mlflow",
		"drain",      // why the attempt ends
		"checkpoint", // what attempts resume from
		"scheduling", // how the gang was submitted
		"mpi",        // pkg/controller sets it, and a suspension removes it
		"conditions.CheckpointUnknown",
	},
	accountRoom: {
		"restarts", "rankRestarts", "replicaStatuses", "workers", "readyReplicas", "gang", "allocatedNodes",
		"progress", "work",
		"drain.ran", "drain.checkpointKnown", "drain.completed",
		"checkpoint.latest", "checkpoint.saveSeconds", "checkpoint.suggestedInterval",
		"conditions.ResumeIgnored",
	},
	statusRoom: {
		"message", "conditions",
		"scheduling.queue", "scheduling.blocker", "scheduling.preemption",
	},
}
