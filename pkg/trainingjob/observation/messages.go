package observation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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

// Age returns a duration without units that are zero: 15m, 1h, 2m30s, 2.1s.
func Age(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Waiting returns which ranks the others wait for: "63 of 64 ranks wait for bert-worker-17 (node-a-07)".
func Waiting(suspects []v1alpha1.Suspect, watched int32) string {
	if len(suspects) == 0 {
		return "no rank can be named"
	}
	first := suspects[0]
	name := first.Pod
	if first.Node != "" {
		name += " (" + first.Node + ")"
	}
	n := int32(len(suspects))
	if n > 1 {
		name += fmt.Sprintf(" and %s", Plural(n-1, "other rank"))
	}
	return fmt.Sprintf("%d of %s wait for %s", watched-n, Plural(watched, "rank"), name)
}
