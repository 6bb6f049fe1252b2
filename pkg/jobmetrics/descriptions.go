package jobmetrics

import "mlplatform.example.com/trainingjob-operator/pkg/metric"

// Names of the sums.
const (
	nameJobs        = "trainingjob_jobs"
	nameBlockedJobs = "trainingjob_blocked_jobs"
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
	nameRankInfo           = "trainingjob_rank_info"
	nameJobsLeftOut        = "trainingjob_jobs_left_out"
	nameRanksLeftOut       = "trainingjob_ranks_left_out"
)

// Labels. Those of the series of a job are namespace and trainingjob, but for trainingjob_state, whose source
// says name.
const (
	labelNamespace = "namespace"
	labelJob       = "trainingjob"
	labelState     = "state"
	labelReason    = "reason"
)

const (
	perJob     = "jobs"
	oncePerJob = "at most one for each job"
)

// SumDescriptions are the sums over all jobs, in the order of reading.
func SumDescriptions() []metric.Description {
	return []metric.Description{
		{Name: nameJobs, Type: metric.Gauge, Labels: []string{labelNamespace, labelState},
			Cardinality: "namespaces × 9 phases",
			Help:        "Jobs that exist, by phase."},
		{Name: nameBlockedJobs, Type: metric.Gauge, Labels: []string{labelNamespace, labelReason},
			Cardinality: "namespaces × about 30 reasons",
			Help: "Jobs that do not run, by the reason of their blocker. A reason that is not the operator's own " +
				"is Other."},
	}
}

// JobDescriptions are the series of each job, in the order of reading.
func JobDescriptions() []metric.Description {
	ofJob := func(name, help string, more ...string) metric.Description {
		return metric.Description{
			Name: name, Type: metric.Gauge, Labels: append([]string{labelNamespace, labelJob}, more...),
			Cardinality: oncePerJob, Help: help,
		}
	}
	state := ofJob(nameState, "1 for the phase that the job is in.")
	state.Labels, state.Cardinality = []string{labelNamespace, "name", labelState}, perJob
	info := ofJob(nameInfo, "1, with what a job names: its queue, priority class, scheduler and framework.",
		"queue", "priority", "scheduler", "framework")
	info.Cardinality = perJob
	since := ofJob(nameStateSince, "When the job entered its phase.", labelState)
	since.Cardinality = perJob
	attempts := ofJob(nameAttempts, "Attempts of the job that were begun, whatever ended the ones before.")
	attempts.Type = metric.Counter
	condition := ofJob(nameCondition, "1 for each condition of the job that is true.", "condition")
	condition.Cardinality = "jobs × 13 conditions"
	ranks := ofJob(nameRankInfo, "1 for each rank of a gang that holds nodes, with its pod.", "worker", "pod")
	ranks.Cardinality = "ranks that hold nodes, up to metrics.jobs.rankLimit"
	return []metric.Description{
		state, since, info,
		ofJob(nameBlocked, "1 while the job does not run, with the reason of its blocker.", labelReason),
		condition, attempts,
		ofJob(nameAllocatedGPUs, "GPUs of the ranks that hold a node."),
		ofJob(nameAllocatedWorkers, "Ranks that hold a node."),
		ofJob(nameProgressPercent, "Percent of all steps that are trained, from 0 to 100."),
		ofJob(nameCurrentEpoch, "Epoch that is being trained; may be a fraction."),
		ofJob(nameCurrentStep, "Step that was trained last, counted over all attempts."),
		ofJob(nameStepDuration, "How long one step takes, by the expected end of the training."),
		ofJob(nameLastProgress, "When the operator received the last report that told of progress."),
		ofJob(nameLoss, "The metric loss of the last report, where it is a finite number."),
		ofJob(nameAccuracy, "The metric accuracy of the last report, where it is a finite number."),
		ofJob(nameCheckpointInterval, "Interval between checkpoints that the trainer is told."),
		ofJob(nameLastCheckpoint, "When the latest complete checkpoint was written, by its writer's clock."),
		ofJob(nameGoodput,
			"Running time that was not lost, out of the time since the job was created, when a run last ended."),
		ranks,
		{Name: nameJobsLeftOut, Type: metric.Gauge, Cardinality: "1",
			Help: "Jobs that have no series here, because there are more than metrics.jobs.limit."},
		{Name: nameRanksLeftOut, Type: metric.Gauge, Cardinality: "1",
			Help: "Ranks that have no series here, because there are more than metrics.jobs.rankLimit."},
	}
}
