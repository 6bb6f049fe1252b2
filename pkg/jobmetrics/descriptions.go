package jobmetrics

import "mlplatform.example.com/trainingjob-operator/pkg/metric"

// Names of the sums.
const (
	nameJobs        = "trainingjob_jobs"
	nameBlockedJobs = "trainingjob_blocked_jobs"

	nameReservations = "trainingjob_reservations"
	nameBackfilled   = "trainingjob_backfilled_jobs"
)

// Names of the series of each job.
const (
	nameInfo               = "trainingjob_info"
	nameState              = "trainingjob_state"
	nameStateSince         = "trainingjob_state_since_timestamp_seconds"
	nameBlocked            = "trainingjob_blocked"
	nameCondition          = "trainingjob_condition"
	nameAttempts           = "trainingjob_attempts_total"
	nameAllocatedGPUs      = "trainingjob_allocated_gpus"
	nameAllocatedWorkers   = "trainingjob_allocated_workers"
	nameProgressPercent    = "trainingjob_progress_percent"
	nameCurrentEpoch       = "trainingjob_current_epoch"
	nameCurrentStep        = "trainingjob_current_step"
	nameStepDuration       = "trainingjob_step_duration_seconds"
	nameLastProgress       = "trainingjob_last_progress_timestamp_seconds"
	nameLoss               = "trainingjob_loss"
	nameAccuracy           = "trainingjob_accuracy"
	nameCheckpointInterval = "trainingjob_checkpoint_interval_seconds"
	nameLastCheckpoint     = "trainingjob_last_checkpoint_timestamp_seconds"
	nameGoodput            = "trainingjob_goodput_ratio"
	nameReportingRanks     = "trainingjob_reporting_ranks"
	nameWatchedRanks       = "trainingjob_watched_ranks"
	nameRankInfo           = "trainingjob_rank_info"
	nameJobsLeftOut        = "trainingjob_jobs_left_out"
	nameRanksLeftOut       = "trainingjob_ranks_left_out"
)

// Labels. The series of a job have namespace and trainingjob; trainingjob_state has name instead, as in its
// source.
const (
	labelNamespace = "namespace"
	labelJob       = "trainingjob"
	labelState     = "state"
	labelReason    = "reason"
	labelPhase     = "phase"
	labelHow       = "how"
)

const (
	perJob     = "jobs"
	oncePerJob = "up to jobs"
)

// SumDescriptions are the sums over all jobs, in the order of the documentation.
func SumDescriptions() []metric.Description {
	return []metric.Description{
		{Name: nameJobs, Type: metric.Gauge, Labels: []string{labelNamespace, labelState},
			Cardinality: "namespaces × 9 phases",
			Help:        "Jobs, by phase."},
		{Name: nameBlockedJobs, Type: metric.Gauge, Labels: []string{labelNamespace, labelReason},
			Cardinality: "namespaces × about 30 reasons",
			Help: "Jobs that do not run, by the reason of their blocker. Other stands for reasons of other " +
				"components."},
		{Name: nameReservations, Type: metric.Gauge, Labels: []string{labelNamespace, labelPhase},
			Cardinality: "namespaces × 4 phases",
			Help:        "Queued jobs with a reservation of capacity, by its phase."},
		{Name: nameBackfilled, Type: metric.Gauge, Labels: []string{labelNamespace, labelHow},
			Cardinality: "namespaces × 3 ways",
			Help:        "Jobs that hold nodes and passed the reservation of another job, by how."},
	}
}

// JobDescriptions are the series of each job, in the order of the documentation.
func JobDescriptions() []metric.Description {
	ofJob := func(name, help string, more ...string) metric.Description {
		return metric.Description{
			Name: name, Type: metric.Gauge, Labels: append([]string{labelNamespace, labelJob}, more...),
			Cardinality: oncePerJob, Help: help,
		}
	}
	state := ofJob(nameState, "1 for the current phase.")
	state.Labels, state.Cardinality = []string{labelNamespace, "name", labelState}, perJob
	info := ofJob(nameInfo, "1, with the queue, priority class, scheduler and framework.",
		"queue", "priority", "scheduler", "framework")
	info.Cardinality = perJob
	since := ofJob(nameStateSince, "Time at which the job entered its phase.", labelState)
	since.Cardinality = perJob
	attempts := ofJob(nameAttempts, "Started attempts.")
	attempts.Type = metric.Counter
	condition := ofJob(nameCondition, "1 for each true condition.", "condition")
	condition.Cardinality = "jobs × 15 conditions"
	ranks := ofJob(nameRankInfo, "1 for each rank of a gang that holds nodes, with its pod.", "worker", "pod")
	ranks.Cardinality = "ranks that hold nodes, up to metrics.jobs.rankLimit"
	return []metric.Description{
		state, since, info,
		ofJob(nameBlocked, "1 while the job does not run, with the reason of its blocker.", labelReason),
		condition, attempts,
		ofJob(nameAllocatedGPUs, "GPUs of the ranks that hold a node. Absent while unknown: with "+
			"status.gpusUnknown, or if only some ranks of a gang with resourceClaims hold one."),
		ofJob(nameAllocatedWorkers, "Ranks that hold a node."),
		ofJob(nameProgressPercent, "Trained steps in percent of all steps."),
		ofJob(nameCurrentEpoch, "Current epoch; can be a fraction."),
		ofJob(nameCurrentStep, "Latest trained step, over all attempts."),
		ofJob(nameStepDuration, "Duration of one step, derived from the estimated end of training."),
		ofJob(nameLastProgress, "Time at which the operator received the last report with progress."),
		ofJob(nameLoss, "Metric loss of the last report, if finite."),
		ofJob(nameAccuracy, "Metric accuracy of the last report, if finite."),
		ofJob(nameCheckpointInterval, "Checkpoint interval that the operator sets for the trainer."),
		ofJob(nameLastCheckpoint, "Time of the latest complete checkpoint, by the clock of its writer."),
		ofJob(nameGoodput,
			"Share of the time since creation that was running and not lost, when a run last ended."),
		ofJob(nameReportingRanks, "Ranks that train and report. Only of running jobs with runPolicy.liveness."),
		ofJob(nameWatchedRanks, "Ranks that train. Only of running jobs with runPolicy.liveness."),
		ranks,
		{Name: nameJobsLeftOut, Type: metric.Gauge, Cardinality: "1",
			Help: "Jobs without series, because there are more than metrics.jobs.limit."},
		{Name: nameRanksLeftOut, Type: metric.Gauge, Cardinality: "1",
			Help: "Ranks without series, because there are more than metrics.jobs.rankLimit."},
	}
}
