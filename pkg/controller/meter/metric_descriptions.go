package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
)

// Names of the metrics. None is labelled by a job's name: jobs come and go, series stay.
const (
	metricCreated          = "trainingjob_created_total"
	metricCompleted        = "trainingjob_completed_total"
	metricFailed           = "trainingjob_failed_total"
	metricDuration         = "trainingjob_duration_seconds"
	metricTransitions      = "trainingjob_transitions_total"
	metricPodsCreated      = "trainingjob_pods_created_total"
	metricPodsDeleted      = "trainingjob_pods_deleted_total"
	metricStatusWrites     = "trainingjob_status_writes_total"
	metricSchedulerReports = "trainingjob_scheduler_reports_total"
	metricSchedulerWakes   = "trainingjob_scheduler_wakes_total"
	metricPreemptions      = "trainingjob_preemptions_total"
	metricInterruptions    = "trainingjob_interruptions_total"
	metricLostSteps        = "trainingjob_lost_steps_total"
	metricLostSeconds      = "trainingjob_lost_seconds_total"
	metricLostGPUSeconds   = "trainingjob_lost_gpu_seconds_total"
	metricRunningSeconds   = "trainingjob_running_seconds_total"
	metricGPUSeconds       = "trainingjob_running_gpu_seconds_total"
	metricUsefulGPUSeconds = "trainingjob_useful_gpu_seconds_total"
	metricQueuedSeconds    = "trainingjob_queued_seconds"
	metricPlacedAcross     = "trainingjob_placed_across_domains_total"
	metricPlacementSeconds = "trainingjob_placement_seconds"
	metricResumeSeconds    = "trainingjob_resume_seconds"
	metricForecasts        = "trainingjob_forecasts_total"

	metricPreemptionPlans     = "trainingjob_preemption_plans_total"
	metricPreemptionVictims   = "trainingjob_preemption_victims_total"
	metricPreemptionEstimated = "trainingjob_preemption_estimated_gpu_seconds_total"
	metricPreemptionLost      = "trainingjob_preemption_lost_gpu_seconds_total"
	metricPreemptionDelay     = "trainingjob_preemption_delay_seconds"
	metricPreemptionStolen    = "trainingjob_preemption_room_stolen_total"
	metricSavesAhead          = "trainingjob_preemption_saves_ahead_total"
	metricOverruledPlans      = "trainingjob_preemption_overruled_total"
	metricUnusableClasses     = "trainingjob_preemption_unusable_classes_total"

	metricReconciles = "trainingjob_operator_reconcile_duration_seconds"
	metricErrors     = "trainingjob_operator_errors_total"
	metricPanics     = "trainingjob_operator_panics_total"
)

// Labels. The queue and the priority are what users have written: see metrics.queue and metrics.priority.
const (
	labelNamespace = "namespace"
	labelQueue     = "queue"
	labelPriority  = "priority"
	labelReason    = "reason"
)

// How many series there are, in words.
const (
	perNamespace = "namespaces"
	perQueue     = "namespaces × queues"
	perPriority  = "namespaces × queues × priority classes"
)

// waitBuckets are 1 s to 36 h.
var waitBuckets = prometheus.ExponentialBuckets(1, 2, 18)

// Descriptions returns every metric that the controller registers, in the order of reading.
func Descriptions() []metric.Description {
	all := lifeMetrics()
	all = append(all, waitMetrics()...)
	all = append(all, workMetrics()...)
	all = append(all, preemptionMetrics()...)
	return append(all, operatorMetrics()...)
}

// lifeMetrics are about what becomes of jobs.
func lifeMetrics() []metric.Description {
	return []metric.Description{
		{Name: metricCreated, Type: metric.Counter, Labels: []string{labelNamespace}, Cardinality: perNamespace,
			Help: "New jobs."},
		{Name: metricCompleted, Type: metric.Counter, Labels: []string{labelNamespace}, Cardinality: perNamespace,
			Help: "Succeeded jobs."},
		{Name: metricFailed, Type: metric.Counter, Labels: []string{labelNamespace, labelReason},
			Cardinality: "namespaces × 4 reasons",
			Help:        "Failed jobs, by reason."},
		{Name: metricDuration, Type: metric.Histogram, Labels: []string{labelNamespace, "state"},
			Cardinality: "namespaces × 2 phases", Buckets: prometheus.ExponentialBuckets(60, 2, 16), // 1 min to 23 d
			Help: "Time from a job's first start of running until it finished, by final phase."},
		{Name: metricTransitions, Type: metric.Counter, Labels: []string{"phase", labelReason},
			Cardinality: "about 60 pairs of phase and reason",
			Help:        "Phase changes, by new phase and reason. Other stands for reasons of other components."},
		{Name: metricPreemptions, Type: metric.Counter, Labels: []string{labelNamespace, labelQueue, labelReason},
			Cardinality: "namespaces × queues × 7 reasons",
			Help: "Attempts that ended because ranks were preempted, evicted, deleted or lost with their node, or " +
				"because the gang yielded to another, by reason."},
	}
}

// waitMetrics are about what gangs wait for.
func waitMetrics() []metric.Description {
	queue := []string{labelNamespace, labelQueue}
	return []metric.Description{
		{Name: metricQueuedSeconds, Type: metric.Histogram, Labels: append(queue, labelPriority),
			Cardinality: perPriority, Buckets: waitBuckets,
			Help: "Time from Queued until at least minAvailable ranks run."},
		{Name: metricPlacementSeconds, Type: metric.Histogram, Labels: queue, Cardinality: perQueue,
			Buckets: waitBuckets,
			Help:    "Time from Queued until all ranks of an attempt hold a node."},
		{Name: metricPlacedAcross, Type: metric.Counter, Labels: []string{"scheduler"},
			Cardinality: "4 schedulers",
			Help:        "Gangs of topology mode Within that the scheduler placed across domains."},
		{Name: metricResumeSeconds, Type: metric.Histogram, Labels: queue, Cardinality: perQueue,
			Buckets: waitBuckets,
			Help:    "Time from the start of an interruption until the gang runs again."},
		{Name: metricForecasts, Type: metric.Counter, Labels: []string{"scheduler", "positions", "result"},
			Cardinality: "4 schedulers × 4 ranges × 3 results",
			Help: "Judged first forecasts of starts (forecast.mode On), by scheduler, positions in the queue and " +
				"result: Held, Early or Late."},
	}
}

// workMetrics are about what is gained and lost.
func workMetrics() []metric.Description {
	ofQueue := func(name, help string) metric.Description {
		return metric.Description{
			Name: name, Type: metric.Counter, Labels: []string{labelNamespace, labelQueue}, Cardinality: perQueue,
			Help: help,
		}
	}
	return []metric.Description{
		ofQueue(metricRunningSeconds, "Running time of ended attempts."),
		ofQueue(metricGPUSeconds,
			"Running seconds multiplied by the GPUs of the gang, without gangs with status.gpusUnknown."),
		ofQueue(metricUsefulGPUSeconds,
			"Running GPU-seconds whose work was kept, counted once the resume point is known."),
		ofQueue(metricLostGPUSeconds,
			"Lost seconds multiplied by the GPUs of the gang, without gangs with status.gpusUnknown."),
		ofQueue(metricLostSeconds, "Running time of ended attempts since their last complete checkpoint."),
		ofQueue(metricLostSteps, "Steps that must be trained again."),
		{Name: metricInterruptions, Type: metric.Counter, Labels: []string{labelNamespace, labelQueue, "cause"},
			Cardinality: "namespaces × queues × 9 causes",
			Help:        "Running attempts that ended before the job completed, by cause."},
	}
}

// preemptionMetrics are about the plans that the operator carries out (preemption.mode Broker).
func preemptionMetrics() []metric.Description {
	counter := func(name, help string) metric.Description {
		return metric.Description{Name: name, Type: metric.Counter, Cardinality: "1", Help: help}
	}
	return []metric.Description{
		{Name: metricPreemptionPlans, Type: metric.Counter, Labels: []string{"outcome"},
			Cardinality: "4 outcomes",
			Help: "Preemption plans, by outcome: Placed, HandedOver to the scheduler, GateIgnored by a scheduler " +
				"without preemption gates, or Revoked because the gang no longer needed the capacity."},
		{Name: metricPreemptionVictims, Type: metric.Counter, Labels: []string{"mode"}, Cardinality: "4 modes",
			Help: "Victims of these plans, by how the operator stopped them."},
		counter(metricPreemptionEstimated, "Expected cost of these victims in GPU-seconds, including the restart."),
		counter(metricPreemptionLost, "GPU-seconds of training that these victims lost."),
		{Name: metricPreemptionDelay, Type: metric.Histogram, Cardinality: "1", Buckets: waitBuckets,
			Help: "Time from when the operator found that a gang does not fit until its placement on capacity that " +
				"victims freed."},
		counter(metricPreemptionStolen, "Further rounds of a plan, because other pods took the freed "+
			"capacity or it disappeared."),
		counter(metricSavesAhead, "Checkpoint requests to running gangs that a waiting gang of higher "+
			"priority could preempt. The gangs keep training."),
		counter(metricOverruledPlans, "Plans with a preemption gate for which the scheduler chose other victims: "+
			"Kueue's feature gate PriorityBoost can be off."),
		counter(metricUnusableClasses, "Attempts whose priority class names an invalid waiting class."),
	}
}

// operatorMetrics are about what the operator does.
func operatorMetrics() []metric.Description {
	counter := func(name, help string) metric.Description {
		return metric.Description{Name: name, Type: metric.Counter, Cardinality: "1", Help: help}
	}
	return []metric.Description{
		{Name: metricReconciles, Type: metric.Histogram, Cardinality: "1",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16), // 1 ms to 33 s
			Help:    "Duration of one reconcile of a job."},
		{Name: metricErrors, Type: metric.Counter, Labels: []string{"error_type"},
			Cardinality: "6 types", Help: memory.ErrorTypesHelp},
		{Name: metricPanics, Type: metric.Counter, Labels: []string{"activity"}, Cardinality: "3 activities",
			Help: "Panics that the operator recovered from while it reconciled one job, planned preemptions " +
				"(plan) or estimated starts and ends (forecast). Each is a bug."},
		counter(metricPodsCreated, "Pods that the operator created."),
		counter(metricPodsDeleted, "Pods that the operator deleted."),
		counter(metricStatusWrites, "Status writes of TrainingJobs."),
		counter(metricSchedulerReports, "Writes that report the status of a gang to a scheduler."),
		{Name: metricSchedulerWakes, Type: metric.Counter, Labels: []string{"scheduler"},
			Cardinality: "4 schedulers",
			Help:        "Times that the operator woke a scheduler for a gang that fits."},
	}
}
