package observation

import (
	"fmt"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Phrases for messages and events.

// SchedulerAndQueue returns the names of the job's scheduler and queue.
func (o *Observation) SchedulerAndQueue() string {
	s := "the scheduler"
	if o.Backend != nil {
		s = o.Backend.Name()
	}
	if q := spec.Queue(o.Job); q != "" {
		s += ", queue " + q
	}
	return s
}

// Size returns the number of ranks and GPUs of the gang.
func (o *Observation) Size() string {
	parts := []string{Plural(o.Total(), "rank")}
	switch g, unknown := o.GPUCount(); {
	case unknown != "":
		parts = append(parts, "an unknown number of GPUs")
	case g > 0:
		parts = append(parts, Plural(int32(g), "GPU"))
	}
	return strings.Join(parts, ", ")
}

// GPUCount returns how many GPUs all ranks request, or why that is not known.
func (o *Observation) GPUCount() (n int64, unknown string) {
	claimed, unknown := o.Devices.GPUs(o.Job)
	if unknown != "" {
		return 0, unknown
	}
	return render.GPUs(o.Job, o.GPUs) + claimed, ""
}

// Running returns how many ranks run, and the progress in the given status.
func (o *Observation) Running(st *v1alpha1.TrainingJobStatus) string {
	running, done := o.Count(RankRunning), o.Count(RankSucceeded)
	msg := fmt.Sprintf("%d/%d ranks running", running, o.Total())
	if done > 0 {
		msg += fmt.Sprintf(", %d succeeded", done)
	}
	if all := spec.Ranks(o.Job); all > o.Total() {
		msg += fmt.Sprintf("; %d of %d were not admitted", all-o.Total(), all)
	}
	if pr := st.Progress; pr != nil && pr.Attempt == st.Attempt {
		msg += "; step " + strconv.FormatInt(pr.Step, 10)
		if pr.TotalSteps > 0 {
			msg += " of " + strconv.FormatInt(pr.TotalSteps, 10)
		}
	}
	if cs := st.Checkpoint; cs != nil && cs.Latest != nil && spec.Checkpoints(o.Job) != nil {
		msg += "; last checkpoint at step " + strconv.FormatInt(cs.Latest.Step, 10)
	}
	return msg
}

// Plural returns a number with its noun in the singular or plural.
func Plural(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(int(n)) + " " + noun + "s"
}
