package jobview

import (
	"cmp"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Header has the job's properties and progress.
type Header struct {
	Cluster, Namespace, Name string
	Phase                    v1alpha1.Phase
	// State completes the phase: the job is being deleted, or is deleted. Empty otherwise.
	State string
	// Properties in the order of the page.
	Properties []Property
	Progress   *Progress // nil: none was reported
	Notes      []string
	Links      Links
}

// Property of a job.
type Property struct {
	Name string
	// Text is empty if At is enough.
	Text string
	At   *time.Time
	// Runs reports whether the page shows the age of At.
	Runs bool
	Href string
}

// Progress of the last report.
type Progress struct {
	// Percent is nil if the total is unknown.
	Percent *int32
	Step    string
	Epoch   string // empty: none was reported
	At      time.Time
	// ETA is nil if it is unknown or the training is over.
	ETA *time.Time
	// Waiting reports whether an ETA is expected: the job runs.
	Waiting bool
	// ByKubeflow: the trainer's Kubeflow callback reported it, not the status file.
	ByKubeflow bool
}

func headerOf(in *Input) Header {
	j := &in.Record.Job
	return Header{
		Cluster: j.Cluster, Namespace: j.Namespace, Name: j.Name, Phase: j.Phase, State: stateOf(in),
		Properties: propertiesOf(in), Progress: progressOf(in), Notes: in.Notes, Links: in.Links,
	}
}

func stateOf(in *Input) string {
	j := &in.Record.Job
	switch {
	case in.Live != nil && !in.Live.DeletionTimestamp.IsZero():
		return "being deleted"
	case j.Deleted != nil:
		return "deleted " + moment(*j.Deleted)
	case j.DeletedBefore != nil:
		return "deleted before " + moment(*j.DeletedBefore)
	case in.Live == nil:
		return "last known state"
	}
	return ""
}

func propertiesOf(in *Input) []Property {
	j := &in.Record.Job
	properties := []Property{
		{Name: "Queue", Text: known(j.Queue), Href: in.Links.Queue},
		{Name: "Priority", Text: cmp.Or(j.PriorityClass, "none")},
	}
	if j.User != "" { // jobs need not name one
		properties = append(properties, Property{Name: "User", Text: j.User})
	}
	properties = append(properties,
		Property{Name: "GPUs", Text: gpusOf(in)},
		Property{Name: "Ranks", Text: ranksReady(in)},
		Property{Name: "Scheduler", Text: known(string(j.Scheduler))},
	)
	if j.Framework != "" {
		properties = append(properties, Property{Name: "Framework", Text: string(j.Framework)})
	}
	properties = append(properties, Property{Name: "Created", At: &j.Created, Runs: true})
	switch {
	case j.Started != nil:
		properties = append(properties, Property{Name: "First ran", At: j.Started})
	default:
		properties = append(properties, Property{Name: "First ran", Text: "not yet, as far as known"})
	}
	if j.Completed != nil {
		properties = append(properties, Property{Name: "Finished", At: j.Completed})
	}
	return append(properties,
		Property{Name: "Attempt", Text: attemptOf(j)},
		Property{Name: "Resume point", Text: resumePointOf(in)},
		Property{Name: "Last checkpoint", Text: latestCheckpoint(in)},
	)
}

// gpusOf a job: its status has them from the first attempt on.
func gpusOf(in *Input) string {
	j := &in.Record.Job
	switch {
	case unknownGPUs(in):
		return unknown
	case j.Attempt == 0 && j.GPUs == 0:
		return unknown + " until the job is queued"
	case j.GPUs == 0:
		return "none"
	}
	return strings.TrimSpace(number(j.GPUs) + " " + j.GPUKind)
}

// unknownGPUs reports whether the operator cannot count the GPUs of the current attempt.
func unknownGPUs(in *Input) bool { return in.Live != nil && in.Live.Status.GPUsUnknown != "" }

func ranksReady(in *Input) string {
	j := &in.Record.Job
	if in.Live == nil || j.Phase.Finished() {
		return number(int64(j.Replicas))
	}
	st := &in.Live.Status
	return number(int64(st.ReadyReplicas)) + " of " + number(int64(st.Replicas)) + " ready"
}

func attemptOf(j *history.Job) string {
	if j.Attempt == 0 {
		return "none yet"
	}
	return number(int64(j.Attempt)) + " (" + count(j.Restarts, "failure") + ", " +
		count(j.Preemptions, "preemption") + ")"
}

// resumePointOf the current attempt.
func resumePointOf(in *Input) string {
	j := &in.Record.Job
	if in.Live != nil {
		c := in.Live.Status.Checkpoint
		if c != nil && c.ResumeFrom != nil {
			return "step " + number(c.ResumeFrom.Step)
		}
		if j.Attempt > 0 {
			return "from the beginning"
		}
		return "none yet"
	}
	for _, a := range in.Record.Attempts {
		if a.Number == j.Attempt && a.Seen {
			return resumedText(&a)
		}
	}
	return unknown
}

// resumedText is where an attempt began.
func resumedText(a *history.Attempt) string {
	switch {
	case a.ResumedFrom != nil:
		return "step " + number(a.ResumedFrom.Step)
	case a.Seen:
		return "from the beginning"
	}
	return unknown
}

func latestCheckpoint(in *Input) string {
	step, found := int64(0), false
	for _, c := range in.Record.Checkpoints {
		step, found = max(step, c.Step), true
	}
	if in.Live != nil {
		if c := in.Live.Status.Checkpoint; c != nil && c.Latest != nil {
			step, found = c.Latest.Step, true
		}
	}
	if !found {
		return "none known"
	}
	return "step " + number(step)
}

// progressOf the status, else of the last sample.
func progressOf(in *Input) *Progress {
	waiting := in.Record.Job.Phase == v1alpha1.PhaseRunning && in.Live != nil
	if in.Live != nil && in.Live.Status.Progress != nil {
		p := in.Live.Status.Progress
		out := &Progress{
			Percent: p.Percent, Step: outOf(number(p.Step), p.TotalSteps), Epoch: p.Epoch,
			At: p.ReportedTime.UTC(), Waiting: waiting,
			ByKubeflow: p.Source == v1alpha1.ProgressFromKubeflow,
		}
		if p.Epoch != "" && p.TotalEpochs != "" {
			out.Epoch += " of " + p.TotalEpochs
		}
		if waiting {
			out.ETA = explain.EndOf(in.Live)
		}
		return out
	}
	if len(in.Samples) == 0 {
		return nil
	}
	s := in.Samples[len(in.Samples)-1]
	return &Progress{Percent: s.Percent, Step: number(s.Step), Epoch: s.Epoch, At: s.Time, Waiting: waiting}
}

func outOf(step string, total int64) string {
	if total == 0 {
		return step
	}
	return step + " of " + number(total)
}
