package controller

// MetricDescription documents one metric. newMetrics registers exactly the metrics that MetricDescriptions
// returns.
type MetricDescription struct {
	Name string
	// Type is "counter", "gauge" or "histogram"; no metric is a gauge so far.
	Type   string
	Labels []string
	Help   string
}

const (
	counterType   = "counter"
	histogramType = "histogram"
)

// Names of the metrics. None is labelled by a job's name: jobs come and go, series stay.
const (
	metricTransitions      = "trainingjob_transitions_total"
	metricPodsCreated      = "trainingjob_pods_created_total"
	metricPodsDeleted      = "trainingjob_pods_deleted_total"
	metricStatusWrites     = "trainingjob_status_writes_total"
	metricSchedulerReports = "trainingjob_scheduler_reports_total"
	metricSchedulerWakes   = "trainingjob_scheduler_wakes_total"
	metricInterruptions    = "trainingjob_interruptions_total"
	metricLostSteps        = "trainingjob_lost_steps_total"
	metricLostSeconds      = "trainingjob_lost_seconds_total"
	metricLostGPUSeconds   = "trainingjob_lost_gpu_seconds_total"
	metricRunningSeconds   = "trainingjob_running_seconds_total"
	metricQueuedSeconds    = "trainingjob_queued_seconds"
	metricResumeSeconds    = "trainingjob_resume_seconds"
)

// MetricDescriptions returns every metric that the controller registers, in the order of reading. The number
// of reconciles, their duration and their errors are controller-runtime's (controller_runtime_reconcile_*).
func MetricDescriptions() []MetricDescription {
	return []MetricDescription{
		{metricTransitions, counterType, []string{"phase", "reason"},
			"Changes of phase, by the new phase and the reason."},
		{metricQueuedSeconds, histogramType, []string{"namespace", "queue"},
			"Time from Queued until at least minAvailable ranks run, of every attempt that gets there."},
		{metricRunningSeconds, counterType, []string{"namespace", "queue"},
			"Running time of attempts that ended. What of it is not lost is goodput."},
		{metricInterruptions, counterType, []string{"namespace", "queue", "cause"},
			"Attempts that ran and were ended before the job completed, by the cause."},
		{metricResumeSeconds, histogramType, []string{"namespace", "queue"},
			"Time from the beginning of an interruption until the gang runs again."},
		{metricLostSteps, counterType, []string{"namespace", "queue"},
			"Steps that were trained and must be trained again."},
		{metricLostSeconds, counterType, []string{"namespace", "queue"},
			"Running time since the last complete checkpoint when an attempt ended."},
		{metricLostGPUSeconds, counterType, []string{"namespace", "queue"},
			"The lost seconds multiplied by the GPUs of the gang."},
		{metricPodsCreated, counterType, nil, "Pods created."},
		{metricPodsDeleted, counterType, nil, "Pods deleted by the operator."},
		{metricStatusWrites, counterType, nil, "Writes of a TrainingJob's status."},
		{metricSchedulerReports, counterType, nil, "Writes that tell a scheduler the status of a gang."},
		{metricSchedulerWakes, counterType, []string{"scheduler"},
			"Times that a scheduler was woken for a gang for which the nodes had room."},
	}
}
