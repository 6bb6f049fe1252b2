package account

import (
	"maps"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// The shortest time between two writes of progress alone. A transition or a new checkpoint includes it at
// once. Up to 15,000 jobs together write at most 50 times a second, which costs the API server a third of a
// processor. With more jobs, each one writes every 5 minutes.
const (
	minReportDelay    = 20 * time.Second
	reportDelayPerJob = time.Second / 50
	maxReportDelay    = 5 * time.Minute
)

func reportDelay(o *observation.Observation) time.Duration {
	return min(max(minReportDelay, time.Duration(o.RunningJobs)*reportDelayPerJob), maxReportDelay)
}

// RecordProgress writes the trainer's progress if it differs from the status: at once if the status is
// written anyway (now), else after its delay. It reports whether it wrote it.
func RecordProgress(o *observation.Observation, p *decision.Plan, now bool) bool {
	next, old := progress(o, &p.Status), p.Status.Progress
	if next == nil || old != nil && sameProgress(old, next) {
		return false
	}
	newStart := old != nil && old.Start != next.Start && next.Start != "" // it is checked once (recordResume)
	if newStart && old.Attempt == next.Attempt {
		recordRestart(o, p, old)
	}
	if old != nil && !now && !newStart {
		if due := old.ReportedTime.Add(reportDelay(o)); o.Now.Before(due) {
			p.WakeAt(due)
			return false
		}
	}
	recordStart(o, p, old)
	p.Status.Progress = next
	return true
}

// recordRestart counts the steps that rank 0 trains again after a restart within the attempt: from its resume
// point, or its first step if it ignores that, to the last step of its earlier start. The write of the new
// start includes the count, so that it is counted once.
func recordRestart(o *observation.Observation, p *decision.Plan, old *v1alpha1.ProgressStatus) {
	from := resumeStep(o.Job)
	if first := o.Checkpoints.Report.FirstStep; first != nil {
		from = min(from, *first)
	}
	if lost := max(old.Step, o.Checkpoints.FormerStep) - from; lost > 0 {
		work(p).LostSteps += lost
	}
}

// resumeStep returns the step from which a rank that starts now resumes; 0 if it starts from scratch.
func resumeStep(job *v1alpha1.TrainingJob) int64 {
	if point := spec.ResumePoint(job); point != nil {
		return point.Step
	}
	return 0
}

// recordStart measures how long the gang took to start training, if the preemption planner needs it. It uses
// the first progress with a step of this attempt, and subtracts the time of the trained steps at the reported
// speed. The result is between 0 and the time since the gang ran.
func recordStart(o *observation.Observation, p *decision.Plan, old *v1alpha1.ProgressStatus) {
	r := o.Checkpoints.Report
	if !o.Plans || r == nil || r.FirstStep == nil || r.Step <= *r.FirstStep ||
		o.Job.Status.Phase != v1alpha1.PhaseRunning {
		return
	}
	if old != nil && old.Attempt == r.Attempt && old.Step > *r.FirstStep {
		return // it was measured then
	}
	ran := r.Received.Sub(o.PhaseSince()).Seconds()
	took := ran - float64(r.Step-*r.FirstStep)*r.StepSeconds
	work(p).StartSeconds = int64(math.Ceil(min(max(took, 0), max(ran, 0))))
}

// progress returns the progress of the current attempt from its report and its termination message; nil if
// the status has all of it.
func progress(o *observation.Observation, st *v1alpha1.TrainingJobStatus) *v1alpha1.ProgressStatus {
	var reported *v1alpha1.ProgressStatus
	if r := o.Checkpoints.Report; r != nil {
		reported = reportedProgress(r)
	}
	return finalProgress(o, st, reported)
}

// finalProgress adds the trainer's last step from its termination message, since the last report may be lost.
// The metrics and the expected end of an earlier step are not kept.
func finalProgress(
	o *observation.Observation, st *v1alpha1.TrainingJobStatus, reported *v1alpha1.ProgressStatus,
) *v1alpha1.ProgressStatus {
	attempt, step, known := o.Job.Status.Attempt, o.Checkpoints.Step, reported
	if known == nil && st.Progress != nil && st.Progress.Attempt == attempt {
		known = st.Progress
	}
	if known == nil {
		known = &v1alpha1.ProgressStatus{}
		if st.Checkpoint != nil && st.Checkpoint.ResumeFrom != nil {
			known.Step = st.Checkpoint.ResumeFrom.Step // a trainer that ends there has trained nothing
		}
	}
	if step == nil || *step <= known.Step {
		return reported
	}
	return &v1alpha1.ProgressStatus{
		Attempt: attempt, Start: known.Start, Step: *step,
		TotalSteps: known.TotalSteps, TotalEpochs: known.TotalEpochs,
		Percent: percentOf(*step, known.TotalSteps), Source: known.Source, ReportedTime: o.Time(),
	}
}

// percentOf returns the percentage of all steps; nil if their number is unknown.
func percentOf(step, total int64) *int32 {
	if total <= 0 {
		return nil
	}
	percent := int32(min(100, float64(step)/float64(total)*100))
	return &percent
}

// reportedProgress returns a report as the status shows it; nil while the trainer has reported no step.
func reportedProgress(r *observation.Reported) *v1alpha1.ProgressStatus {
	if r.FirstStep == nil {
		return nil
	}
	source := v1alpha1.ProgressSource(r.Source)
	if source == "" {
		source = v1alpha1.ProgressFromStatusFile
	}
	s := &v1alpha1.ProgressStatus{
		Attempt: r.Attempt, Start: r.Start, Step: r.Step, TotalSteps: r.TotalSteps,
		Epoch: epoch(r.Epoch), TotalEpochs: epoch(r.TotalEpochs), Source: source,
		ReportedTime: metav1.NewTime(r.Received.Truncate(time.Second)),
	}
	if len(r.Metrics) > 0 {
		s.Metrics = make(map[string]string, len(r.Metrics))
		for name, m := range r.Metrics {
			s.Metrics[name] = string(m)
		}
	}
	if s.Percent = percentOf(r.Step, r.TotalSteps); s.Percent != nil {
		left := float64(r.TotalSteps-r.Step) * r.StepSeconds
		if r.StepSeconds > 0 && left >= 0 && left < math.MaxInt32 {
			at := metav1.NewTime(s.ReportedTime.Add(time.Duration(left) * time.Second))
			s.EstimatedCompletionTime = &at
		}
	}
	return s
}

func epoch(e float64) string {
	if e == 0 {
		return ""
	}
	return strconv.FormatFloat(e, 'f', -1, 64)
}

// sameProgress reports whether two are equal except for their times, which differ with every report. An
// operator that did not know sources has recorded none: that alone is no progress.
func sameProgress(old, next *v1alpha1.ProgressStatus) bool {
	return old.Attempt == next.Attempt && old.Start == next.Start && old.Step == next.Step &&
		old.TotalSteps == next.TotalSteps && old.Epoch == next.Epoch && old.TotalEpochs == next.TotalEpochs &&
		(old.Source == next.Source || old.Source == "") && maps.Equal(old.Metrics, next.Metrics)
}
