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
	if p.ev.report == nil {
		return false
	}
	next, old := progressOf(p.ev.report), p.plan.Status.Progress
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
	if r.TotalSteps > 0 {
		percent := int32(min(100, float64(r.Step)/float64(r.TotalSteps)*100))
		s.Percent = &percent
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
