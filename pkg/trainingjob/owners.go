package trainingjob

// writer is a package of the core that writes fields of the status.
type writer string

const (
	decisionWriter writer = "decision"
	accountWriter  writer = "account"
	statusWriter   writer = "status"
	// noWriter has no fields: its step can only restore what is persisted.
	noWriter writer = ""
)

// owners lists the fields of the status that each package writes; no other package writes them. A path
// includes the fields below it, except for those of a longer path. The owner of an object may remove it as a
// unit. TestOwners checks that each field has one owner. The stories, and every eleventh reconcile of the
// random histories, check that no other writer changes it.
//
// Later decisions and the preemption planner read the fields of decision and account. Of the fields of
// status they read the blocker's reason and message, and the plan in scheduling.preemption.
var owners = map[writer][]string{
	decisionWriter: {
		"phase", "attempt", "preemptions", "disruptions", "replicas", "minAvailable", "selector", "gpus",
		"gpusUnknown",
		"nextAttemptTime", "lastFailure", "transitions", "startTime", "completionTime", "observedGeneration",
		"revision", "restartRequest", "mlflow",
		"drain",      // why the attempt ends
		"checkpoint", // what attempts resume from
		"scheduling", // how the gang was submitted
		"mpi",        // pkg/controller sets it, and a suspension removes it
		"conditions.CheckpointUnknown",
	},
	accountWriter: {
		"restarts", "rankRestarts", "replicaStatuses", "workers", "readyReplicas", "gang", "allocatedNodes",
		"progress", "work", "liveness", "rehearsal.attempts",
		"drain.ran", "drain.checkpointKnown", "drain.completed",
		"checkpoint.latest", "checkpoint.saveSeconds", "checkpoint.suggestedInterval",
		"conditions.ResumeIgnored",
	},
	statusWriter: {
		"message", "conditions", "rehearsal.result", "rehearsal.checks",
		"scheduling.queue", "scheduling.blocker", "scheduling.preemption", "scheduling.domain",
		"scheduling.estimatedStart", "scheduling.estimatedEnd", "scheduling.firstForecast",
		"scheduling.reservation", "scheduling.backfill", // what pkg/controller/planner computes
	},
}
