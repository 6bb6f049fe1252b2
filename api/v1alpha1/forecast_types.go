package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EstimatedStart is the operator's forecast of when a queued gang starts. Either time or unknown is set.
type EstimatedStart struct {
	// Time of the start: the median, if no other job is submitted.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Earliest is a time before which the gang hardly starts: with a time, the 10% point.
	// +optional
	Earliest *metav1.Time `json:"earliest,omitempty"`
	// Latest is the 90% point, with a time.
	// +optional
	Latest *metav1.Time `json:"latest,omitempty"`
	// HitPercent of the last judged forecasts of this scheduler and range of positions held.
	// +optional
	HitPercent int32 `json:"hitPercent,omitempty"`
	// HitOf is the number of these forecasts, 0 to 200.
	// +optional
	HitOf int32 `json:"hitOf,omitempty"`
	// Position within the queue, from 1.
	// +optional
	Position int32 `json:"position,omitempty"`
	// Behind is what the start depends on, at most 4 entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Behind []StartDependency `json:"behind,omitempty"`
	// Unknown is why there is no time.
	// +optional
	Unknown StartUnknown `json:"unknown,omitempty"`
	// ObservedTime of the forecast.
	ObservedTime metav1.Time `json:"observedTime"`
}

// FirstForecast is the first interval that an attempt got, which the operator judges when the gang starts. It
// is recorded also if estimatedStart does not show it because its kind is not calibrated.
type FirstForecast struct {
	// Earliest is the 10% point of the start.
	Earliest metav1.Time `json:"earliest"`
	// Latest is the 90% point of the start.
	Latest metav1.Time `json:"latest"`
	// Position within the queue.
	Position int32 `json:"position"`
	// SpreadPercent of the queue's unmeasured lengths.
	SpreadPercent int32 `json:"spreadPercent"`
	// ObservedTime is when it was made.
	ObservedTime metav1.Time `json:"observedTime"`
	// Result is absent while the gang can still start in the interval.
	// +optional
	Result ForecastResult `json:"result,omitempty"`
	// JudgedTime is the start of the gang; with Late, latest.
	// +optional
	JudgedTime *metav1.Time `json:"judgedTime,omitempty"`
}

// ForecastResult is what became of a forecast.
// +kubebuilder:validation:Enum=Held;Early;Late
type ForecastResult string

const (
	// ForecastHeld means that the gang started in the interval.
	ForecastHeld ForecastResult = "Held"
	// ForecastEarly means that it started before the interval.
	ForecastEarly ForecastResult = "Early"
	// ForecastLate means that it did not start until the end of the interval.
	ForecastLate ForecastResult = "Late"
)

// StartDependency is something that the start of a gang depends on.
type StartDependency struct {
	// What has to happen.
	What StartDependencyKind `json:"what"`
	// Name of the job, or of the quota. Absent for a job of another namespace.
	// +optional
	Name string `json:"name,omitempty"`
	// Time when it happens. Absent if unknown.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// GPUs of the job.
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// Basis of the time, with Ends.
	// +optional
	Basis ForecastBasis `json:"basis,omitempty"`
	// Unknown is why the job's end is unknown, with Ends.
	// +optional
	Unknown EndUnknown `json:"unknown,omitempty"`
}

// StartDependencyKind is what has to happen before a gang starts.
// +kubebuilder:validation:Enum=Ends;GoesFirst;Quota;Room
type StartDependencyKind string

const (
	// DependsOnEnd means that another job ends.
	DependsOnEnd StartDependencyKind = "Ends"
	// DependsOnOrder means that another waiting job is served first.
	DependsOnOrder StartDependencyKind = "GoesFirst"
	// DependsOnQuota means that the queue's quota becomes free.
	DependsOnQuota StartDependencyKind = "Quota"
	// DependsOnRoom means that other pods end, or admins add nodes.
	DependsOnRoom StartDependencyKind = "Room"
)

// StartUnknown is why the start of a gang is unknown.
// +kubebuilder:validation:Enum=NoEndKnown;NotCalibrated;TooFarAhead;QueueUnknown;NotComplete;SchedulerDecides
type StartUnknown string

const (
	// StartNoEndKnown means that the start depends on a job whose end is unknown, or on other pods.
	StartNoEndKnown StartUnknown = "NoEndKnown"
	// StartNotCalibrated means that fewer than 30 forecasts of the kind were judged, fewer than 65% of them
	// held, or the interval is too wide.
	StartNotCalibrated StartUnknown = "NotCalibrated"
	// StartTooFarAhead means that the gang starts after the operator's forecast.horizonSeconds, or is not
	// among the first of forecast.considered.
	StartTooFarAhead StartUnknown = "TooFarAhead"
	// StartQueueUnknown means that the operator does not know the queue or its quota.
	StartQueueUnknown StartUnknown = "QueueUnknown"
	// StartNotComplete means that the operator does not see all pods and nodes.
	StartNotComplete StartUnknown = "NotComplete"
	// StartSchedulerDecides means that the start depends on borrowed quota, new nodes, a topology or other
	// things that the forecast does not model.
	StartSchedulerDecides StartUnknown = "SchedulerDecides"
)

// EstimatedEnd is the operator's forecast of when a job ends. Either time or unknown is set.
type EstimatedEnd struct {
	// Time of the end, without interruptions. For a queued job it follows from estimatedStart.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Earliest is a time before which a running job hardly ends. Absent for a queued job.
	// +optional
	Earliest *metav1.Time `json:"earliest,omitempty"`
	// Basis of the time.
	// +optional
	Basis ForecastBasis `json:"basis,omitempty"`
	// StepMilliseconds is the time of one step, by the operator's clock, with basis Steps.
	// +optional
	StepMilliseconds int64 `json:"stepMilliseconds,omitempty"`
	// SimilarJobs is the number of finished jobs, with basis Similar.
	// +optional
	SimilarJobs int32 `json:"similarJobs,omitempty"`
	// Unknown is why there is no time.
	// +optional
	Unknown EndUnknown `json:"unknown,omitempty"`
	// ObservedTime of the forecast.
	ObservedTime metav1.Time `json:"observedTime"`
}

// ForecastBasis is what an end is computed from.
// +kubebuilder:validation:Enum=Steps;Expected;Similar;Deadline
type ForecastBasis string

const (
	// ForecastSteps: the remaining steps and the step time.
	ForecastSteps ForecastBasis = "Steps"
	// ForecastExpected: runPolicy.expectedSeconds.
	ForecastExpected ForecastBasis = "Expected"
	// ForecastSimilar: finished jobs of the namespace with the same name but for a suffix.
	ForecastSimilar ForecastBasis = "Similar"
	// ForecastDeadline: runPolicy.activeDeadlineSeconds. The job may end earlier.
	ForecastDeadline ForecastBasis = "Deadline"
)

// EndUnknown is why the end of a job is unknown.
// +kubebuilder:validation:Enum=NoReports;NoTotalSteps;TooFewReports;LengthUnknown
type EndUnknown string

const (
	// EndNoReports means that the trainer has reported no step.
	EndNoReports EndUnknown = "NoReports"
	// EndNoTotalSteps means that the trainer does not report totalSteps.
	EndNoTotalSteps EndUnknown = "NoTotalSteps"
	// EndTooFewReports means that the operator has not yet measured the time of a step.
	EndTooFewReports EndUnknown = "TooFewReports"
	// EndLengthUnknown means that nothing bounds the running time of a queued job.
	EndLengthUnknown EndUnknown = "LengthUnknown"
)
