package forecaster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxSimilar bounds the finished jobs that count for a length.
const maxSimilar = 20

// history has the running times of jobs that succeeded, the latest first.
type history map[string][]time.Duration

// historyOf the finished jobs in the cluster.
func historyOf(jobs []v1alpha1.TrainingJob) history {
	var finished []*v1alpha1.TrainingJob
	for i := range jobs {
		st := &jobs[i].Status
		if st.Phase == v1alpha1.PhaseSucceeded && st.CompletionTime != nil && st.Work != nil &&
			st.Work.RunningSeconds > 0 {
			finished = append(finished, &jobs[i])
		}
	}
	slices.SortFunc(finished, func(a, b *v1alpha1.TrainingJob) int {
		return cmp.Or(b.Status.CompletionTime.Compare(a.Status.CompletionTime.Time), cmp.Compare(a.UID, b.UID))
	})
	h := history{}
	for _, job := range finished {
		for _, key := range similarityKeys(job) {
			if len(h[key]) < maxSimilar {
				h[key] = append(h[key], duration(job.Status.Work.RunningSeconds))
			}
		}
	}
	return h
}

// similarityKeys are those of jobs that probably run as long, the closest first.
func similarityKeys(job *v1alpha1.TrainingJob) [2]string {
	return [2]string{
		"name " + job.Namespace + "/" + stem(job),
		fmt.Sprintf("size %s/%s/%d", job.Namespace, spec.Queue(job), job.Status.GPUs),
	}
}

// stem is the name of a job without a generated suffix or a trailing number.
func stem(job *v1alpha1.TrainingJob) string {
	if job.GenerateName != "" {
		return strings.TrimRight(job.GenerateName, "-")
	}
	return strings.TrimRight(strings.TrimRight(job.Name, "0123456789"), "-.")
}

// similar returns the running times of jobs like one, from the closest key that has enough to tell.
func (h history) similar(job *v1alpha1.TrainingJob) []time.Duration {
	keys := similarityKeys(job)
	if same := h[keys[0]]; len(same) >= forecast.MinSimilar {
		return same
	}
	return h[keys[1]]
}

// lengthOf returns how long a gang still runs.
func (d *description) lengthOf(job *v1alpha1.TrainingJob) forecast.Length {
	if until, yields := d.yields[job.UID]; yields {
		return forecast.Length{Time: max(0, until.Sub(d.now))}
	}
	return Lengths{d.history, d.steps}.Of(job, d.now)
}

// Lengths computes how long gangs run, from finished jobs and from what trainers reported.
type Lengths struct {
	history history
	steps   Steps
}

// NewLengths returns the lengths by the jobs of the cluster. Steps is nil where no server receives reports.
func NewLengths(jobs []v1alpha1.TrainingJob, steps Steps) Lengths {
	return Lengths{historyOf(jobs), steps}
}

// Of returns how long a gang still runs.
func (l Lengths) Of(job *v1alpha1.TrainingJob, now time.Time) forecast.Length {
	running := spec.HoldsNodes(job)
	ending := job.Status.Phase == v1alpha1.PhaseDraining || job.DeletionTimestamp != nil || spec.Suspended(job)
	if running && ending {
		return forecast.Length{}
	}
	run := forecast.Run{Similar: l.history.similar(job), Waits: !running}
	if w := job.Status.Work; w != nil {
		run.Ran = duration(w.RunningSeconds)
	}
	if n := len(job.Status.Transitions); n > 0 && job.Status.Phase == v1alpha1.PhaseRunning {
		run.Ran += max(0, now.Sub(job.Status.Transitions[n-1].Time.Time))
	}
	if s := job.Spec.RunPolicy.ExpectedSeconds; s != nil {
		run.Expected = duration(*s)
	}
	if s := job.Spec.RunPolicy.ActiveDeadlineSeconds; s != nil {
		run.Deadline = duration(*s)
	}
	if l.steps != nil && running {
		if attempt, steps, known := l.steps.Steps(job.UID); known && attempt == job.Status.Attempt {
			run.Steps = &steps
		}
	}
	if !running {
		run.StepsLeft, run.StepSeconds = stepsLeft(job)
	}
	return forecast.LengthOf(run, now)
}

// stepsLeft returns the steps that a gang trains once it runs again, and the step time that the trainer of
// its last attempt claimed; 0: unknown.
func stepsLeft(job *v1alpha1.TrainingJob) (left int64, stepSeconds float64) {
	p := job.Status.Progress
	if p == nil || p.TotalSteps <= p.Step || p.EstimatedCompletionTime == nil {
		return 0, 0
	}
	stepSeconds = p.EstimatedCompletionTime.Sub(p.ReportedTime.Time).Seconds() / float64(p.TotalSteps-p.Step)
	left = p.TotalSteps
	if point := spec.ResumePoint(job); point != nil {
		left -= min(left, point.Step)
	}
	return left, max(0, stepSeconds)
}

// duration of some seconds, at most 68 years: a longer one overflows.
func duration(seconds int64) time.Duration {
	return time.Duration(min(max(0, seconds), math.MaxInt32)) * time.Second
}
