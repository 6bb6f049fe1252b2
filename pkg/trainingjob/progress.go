package trainingjob

import (
	"maps"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// ReportDelay is how often progress is written at most; a transition or a new checkpoint carries it at once.
const ReportDelay = 20 * time.Second

// progress takes over what the trainer says of itself, when that differs from the status: at once where something else is
// written anyway, else when ReportDelay is over. It says whether it did.
func (p *pass) progress(now bool) bool {
	next, old := p.lastStep(p.heard()), p.plan.Status.Progress
	if next == nil || old != nil && sameProgress(old, next) {
		return false
	}
	if old != nil && !now {
		if due := old.ReportedTime.Add(ReportDelay); p.Now.Before(due) {
			p.wakeAt(due, true)
			return false
		}
	}
	p.plan.Status.Progress = next
	return true
}

// heard is what rank 0 reported of the current attempt; nil: nothing that this process has heard.
func (p *pass) heard() *v1alpha1.ProgressStatus {
	if p.ev.report == nil {
		return nil
	}
	return progressOf(p.ev.report)
}

// lastStep adds the step at which the trainer ended by its last word: nobody may have heard its last report. The metrics of an earlier
// step, and when the end was expected then, are not said of it.
func (p *pass) lastStep(heard *v1alpha1.ProgressStatus) *v1alpha1.ProgressStatus {
	st, step, known := &p.plan.Status, p.ev.step, heard
	if known == nil && st.Progress != nil && st.Progress.Attempt == p.job.Status.Attempt {
		known = st.Progress
	}
	if known == nil {
		known = &v1alpha1.ProgressStatus{}
		if st.Checkpoint != nil && st.Checkpoint.ResumeFrom != nil {
			known.Step = st.Checkpoint.ResumeFrom.Step // one that ends there has trained nothing
		}
	}
	if step == nil || *step <= known.Step {
		return heard
	}
	next := &v1alpha1.ProgressStatus{Attempt: p.job.Status.Attempt, Step: *step, TotalSteps: known.TotalSteps, TotalEpochs: known.TotalEpochs, ReportedTime: p.now()}
	next.Percent = percentOf(next.Step, next.TotalSteps)
	return next
}

// percentOf all steps; nil where their number is unknown.
func percentOf(step, total int64) *int32 {
	if total <= 0 {
		return nil
	}
	percent := int32(min(100, float64(step)/float64(total)*100))
	return &percent
}

// progressOf a report; nil where the trainer has said nothing yet.
func progressOf(r *Reported) *v1alpha1.ProgressStatus {
	if r.FirstStep == nil {
		return nil
	}
	s := &v1alpha1.ProgressStatus{
		Attempt: r.Attempt, Step: r.Step, TotalSteps: r.TotalSteps, Epoch: epoch(r.Epoch), TotalEpochs: epoch(r.TotalEpochs),
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

// sameProgress: the same thing said again. Times are left out, for they differ with every report.
func sameProgress(a, b *v1alpha1.ProgressStatus) bool {
	return a.Attempt == b.Attempt && a.Step == b.Step && a.TotalSteps == b.TotalSteps && a.Epoch == b.Epoch && a.TotalEpochs == b.TotalEpochs &&
		maps.Equal(a.Metrics, b.Metrics)
}

// trained is how far the training is, for the message of a gang that runs; empty where nothing is known.
func (p *pass) trained() string {
	st, text := &p.plan.Status, ""
	if pr := st.Progress; pr != nil && pr.Attempt == st.Attempt {
		text = "; step " + strconv.FormatInt(pr.Step, 10)
		if pr.TotalSteps > 0 {
			text += " of " + strconv.FormatInt(pr.TotalSteps, 10)
		}
	}
	if cs := st.Checkpoint; cs != nil && cs.Latest != nil && Checkpoints(p.job) != nil {
		text += "; last checkpoint at step " + strconv.FormatInt(cs.Latest.Step, 10)
	}
	return text
}
