package explain

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Explanation of what a job is doing.
type Explanation struct {
	// Phase of the job; empty before the operator has processed it.
	Phase v1alpha1.Phase `json:"phase"`
	// Since is when the job entered the phase; nil if the status does not have it.
	Since *time.Time `json:"since,omitempty"`
	// ForSeconds is the time since then; 0 if Since is nil.
	ForSeconds int64 `json:"forSeconds,omitempty"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// NextStep is what the user or an admin can do, or what happens next by itself.
	NextStep  string                 `json:"nextStep,omitempty"`
	Scheduler v1alpha1.SchedulerName `json:"scheduler,omitempty"`
	Queue     string                 `json:"queue,omitempty"`
	// Attempt is the number of the current attempt; 0 before the first. Restarts count against backoffLimit,
	// Preemptions do not.
	Attempt     int32 `json:"attempt"`
	Restarts    int32 `json:"restarts"`
	Preemptions int32 `json:"preemptions"`
	// Blocker is the one reason why the job does not run; nil where nothing blocks it.
	Blocker *Blocker `json:"blocker,omitempty"`
	// Arithmetic of the blocker, by resource.
	Arithmetic []Line `json:"arithmetic,omitempty"`
	// Preemption names the victims that the gang needs; nil if the operator plans no preemption.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Drain is why the operator stops the current attempt; nil if it does not.
	Drain *Drain `json:"drain,omitempty"`
	// Backoff is when the next attempt is queued; nil without a backoff.
	Backoff *time.Time `json:"backoff,omitempty"`
	// LastFailure of a rank, in this attempt or an earlier one.
	LastFailure *Failure `json:"lastFailure,omitempty"`
	// Progress is the trainer's last report; nil if it reported no step.
	Progress *Progress `json:"progress,omitempty"`
	// Liveness is whether the ranks make progress; nil unless the gang runs with runPolicy.liveness.
	Liveness *Liveness `json:"liveness,omitempty"`
	// Forecast is when the job probably starts and ends; nil if the operator estimates neither.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Reservation is capacity that is kept for the gang; nil if none is. Backfill is how the gang passes the
	// reservation of another gang, or how long one held it back; nil if none affects it.
	Reservation *Reservation `json:"reservation,omitempty"`
	Backfill    *Backfill    `json:"backfill,omitempty"`
	// Rehearsal has the checks of a job with spec.rehearsal; nil for other jobs.
	Rehearsal *Rehearsal `json:"rehearsal,omitempty"`
	// Rehearsed is the newest rehearsal of this job; nil if none exists, or if rehearsals cannot be read.
	Rehearsed *Rehearsed `json:"rehearsed,omitempty"`
	// Unknown has a sentence for each fact that a reader expects and the status does not have.
	Unknown []string `json:"unknown,omitempty"`
}

// Progress is the trainer's last report.
type Progress struct {
	// Step that was trained last, over all attempts. TotalSteps is 0, and Percent nil, if the total is unknown.
	Step       int64  `json:"step"`
	TotalSteps int64  `json:"totalSteps,omitempty"`
	Percent    *int32 `json:"percent,omitempty"`
	// Source of the report; empty if the operator only knows the trainer's end.
	Source v1alpha1.ProgressSource `json:"source,omitempty"`
}

// Blocker is the one reason why a job does not run.
type Blocker struct {
	// Reason as one CamelCase word.
	Reason string `json:"reason"`
	// Meaning of the reason, in general; empty for a scheduler's own reasons.
	Meaning string `json:"meaning,omitempty"`
	// Object that the reason is about, as kubectl takes it.
	Object string `json:"object,omitempty"`
	// Message explains the reason with numbers.
	Message string `json:"message,omitempty"`
	// Observed is when the message was last refreshed.
	Observed *time.Time `json:"observed,omitempty"`
}

// Line compares need and free for one resource, as Kubernetes quantities.
type Line struct {
	Resource string `json:"resource"`
	// Need of the gang, or of one rank if a single rank does not fit.
	Need string `json:"need"`
	// Free in the quota or on the nodes; empty if unknown.
	Free string `json:"free,omitempty"`
	// Short is need minus free, at least 0; empty if Free is unknown.
	Short string `json:"short,omitempty"`
}

// Drain is why the operator stops an attempt.
type Drain struct {
	Cause   v1alpha1.DrainCause `json:"cause"`
	Reason  string              `json:"reason"`
	Message string              `json:"message,omitempty"`
	// Saving is true while the operator waits for the trainer's checkpoint, at most until Deadline.
	Saving   bool       `json:"saving"`
	Deadline *time.Time `json:"deadline,omitempty"`
}

// Failure of a rank.
type Failure struct {
	PodName string `json:"podName"`
	Attempt int32  `json:"attempt"`
	Node    string `json:"node,omitempty"`
	// ExitCode of the trainer; nil if unknown.
	ExitCode *int32     `json:"exitCode,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Message  string     `json:"message,omitempty"`
	Time     *time.Time `json:"time,omitempty"`
}
