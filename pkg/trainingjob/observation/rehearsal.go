package observation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxRehearsalFailure bounds the text of a failure in status.rehearsal, in bytes.
const maxRehearsalFailure = 256

// Rehearsal is what is known of the attempts of a rehearsal.
type Rehearsal struct {
	Policy rehearsal.Policy
	// Attempts that have trained: those of the status, with what is observed now.
	Attempts []v1alpha1.RehearsalAttempt
	// Running describes the attempt that runs. Only its Total counts in other phases.
	Running rehearsal.Running
	// Waited is for how long the job has waited to run, over all attempts.
	Waited time.Duration
}

// rehearsalOf returns nil for a job that is no rehearsal.
func rehearsalOf(o *Observation) *Rehearsal {
	if !spec.IsRehearsal(o.Job) || spec.Checkpoints(o.Job) == nil {
		return nil
	}
	r := &Rehearsal{Policy: spec.Rehearsal(o.Job), Waited: waited(o)}
	if w := o.Job.Status.Work; w != nil {
		r.Running.Total = time.Duration(w.RunningSeconds) * time.Second
	}
	if st := o.Job.Status.Rehearsal; st != nil {
		for i := range st.Attempts {
			r.Attempts = append(r.Attempts, *st.Attempts[i].DeepCopy())
		}
	}
	switch o.Job.Status.Phase {
	case v1alpha1.PhaseRunning:
		r.Running.Ran = max(0, o.Now.Sub(o.PhaseSince()))
		r.Running.Total += r.Running.Ran
		observeRunning(o, r.current(o.Job))
		r.takeEvidence(o)
		if report := o.Checkpoints.Report; report != nil && report.FirstStep != nil {
			r.Running.Step = &report.Step
		}
	case v1alpha1.PhaseDraining:
		if a := r.find(o.Job.Status.Attempt); a != nil {
			observeDraining(o, a)
		} else if drainsTraining(o) {
			observeDraining(o, r.current(o.Job))
		}
		r.takeEvidence(o)
	}
	return r
}

// waited returns for how long the job has waited to run: before earlier runs, and since the last one or since
// the user resumed it.
func waited(o *Observation) time.Duration {
	st := &o.Job.Status
	var before time.Duration
	if st.Work != nil {
		before = time.Duration(st.Work.QueuedSeconds) * time.Second
	}
	if st.Phase != v1alpha1.PhaseQueued && st.Phase != v1alpha1.PhaseStarting {
		return before
	}
	ts := st.Transitions
	since := 1 + max(spec.LastEntry(ts, v1alpha1.PhaseRunning), spec.LastEntry(ts, v1alpha1.PhaseSuspended))
	if since >= len(ts) {
		return before
	}
	return before + max(0, o.Now.Sub(ts[since].Time.Time))
}

// drainsTraining reports whether the attempt that drains has trained, or a rank failed by itself.
func drainsTraining(o *Observation) bool {
	d := o.Job.Status.Drain
	return d != nil && (d.Cause == v1alpha1.CauseFailure || d.Cause == v1alpha1.CauseRehearsal ||
		o.Checkpoints.Report != nil)
}

func (r *Rehearsal) find(number int32) *v1alpha1.RehearsalAttempt {
	i := slices.IndexFunc(r.Attempts, func(a v1alpha1.RehearsalAttempt) bool { return a.Attempt == number })
	if i < 0 {
		return nil
	}
	return &r.Attempts[i]
}

// current returns the current attempt, which it adds if it is missing.
func (r *Rehearsal) current(job *v1alpha1.TrainingJob) *v1alpha1.RehearsalAttempt {
	if a := r.find(job.Status.Attempt); a != nil {
		return a
	}
	a := v1alpha1.RehearsalAttempt{Attempt: job.Status.Attempt}
	if cs := job.Status.Checkpoint; cs != nil && cs.ResumeFrom != nil {
		a.ResumeStep = new(cs.ResumeFrom.Step)
	}
	r.Attempts = append(r.Attempts, a)
	return &r.Attempts[len(r.Attempts)-1]
}

// observeRunning records the newest checkpoint, and the last step and phase, which stay as they are when the
// attempt ends.
func observeRunning(o *Observation, a *v1alpha1.RehearsalAttempt) {
	recordSaved(o, a)
	report := o.Checkpoints.Report
	if report == nil {
		return
	}
	a.EndPhase = string(report.Phase)
	if report.FirstStep != nil {
		a.EndStep = new(report.Step)
	}
	for i := range report.Rehearsal {
		if e := &report.Rehearsal[i]; e.Attempt == a.Attempt && e.Phase != "" {
			a.EndPhase = string(e.Phase)
		}
	}
}

func recordSaved(o *Observation, a *v1alpha1.RehearsalAttempt) {
	if latest := o.Checkpoints.Latest; latest != nil {
		a.SavedStep = new(latest.Step)
	}
	if found := o.Checkpoints.Resolved; found != nil {
		a.SavedStep = nil
		if found.Checkpoint != nil {
			a.SavedStep = new(found.Checkpoint.Step)
		}
	}
}

// observeDraining records why and how the attempt ends.
func observeDraining(o *Observation, a *v1alpha1.RehearsalAttempt) {
	d := o.Job.Status.Drain
	if d == nil {
		return
	}
	recordSaved(o, a)
	a.Failure = ""
	switch d.Cause {
	case v1alpha1.CauseRehearsal:
		a.Way, a.EndTime = d.Way, new(metav1.NewTime(o.PhaseSince()))
		// A kill has the effect of a lost node. In the other ways, such a loss hides what the trainer would
		// do.
		a.Interrupted = a.Interrupted || a.Way != v1alpha1.RehearsalKill && len(o.Lost) > 0
		recordAnswer(o, a)
	case v1alpha1.CauseFailure:
		a.Failure = strings.ToValidUTF8(d.Message[:min(len(d.Message), maxRehearsalFailure)], "")
	default:
		a.Interrupted = true
	}
	if rank := o.Reporter(); rank != nil && rank.LastPod() != nil {
		if end := exitOf(rank.LastPod(), rank.Trainer); end != nil {
			a.ExitCode = new(end.ExitCode)
			a.Interrupted = a.Interrupted || isIneffective(d, end)
		}
	}
	if len(o.Live) == 0 && len(o.Lost) == 0 && isKill(d.Way) && a.ExitCode == nil {
		a.Interrupted = true // a kill that was not seen is played again
	}
}

// killedCode is the exit code of a trainer that the agent has killed.
const killedCode = 137

func isKill(way v1alpha1.RehearsalWay) bool {
	return way == v1alpha1.RehearsalKill || way == v1alpha1.RehearsalKillInSave
}

// isIneffective reports whether the trainer of rank 0 ended in another way than by the kill of its agent,
// such as at SIGTERM, because the command did not reach the agent in time.
func isIneffective(d *v1alpha1.DrainStatus, end *corev1.ContainerStateTerminated) bool {
	switch d.Way {
	case v1alpha1.RehearsalKill: // at once, and not by the kubelet after SIGTERM and the grace
		return end.ExitCode != killedCode || d.Deadline != nil && !end.FinishedAt.Time.Before(d.Deadline.Time)
	case v1alpha1.RehearsalKillInSave:
		return end.ExitCode != killedCode
	}
	return false
}

// recordAnswer records when the requested checkpoint was complete, and when the last rank had ended.
func recordAnswer(o *Observation, a *v1alpha1.RehearsalAttempt) {
	since := func(t time.Time) *int64 {
		if t.IsZero() || t.After(o.Now) {
			t = o.Now
		}
		return new(int64(max(0, t.Sub(a.EndTime.Time)) / time.Second))
	}
	latest := o.Checkpoints.Latest
	if latest != nil && !isKill(a.Way) && a.SavedAfterSeconds == nil && savedAll(a, latest) && answered(o) {
		var at time.Time
		if latest.Time != nil {
			at = latest.Time.Time
		}
		a.SavedAfterSeconds = since(at)
	}
	if len(o.Live) > 0 || a.EndedAfterSeconds != nil {
		return
	}
	var last time.Time
	for i := range o.Ranks {
		if pod := o.Ranks[i].LastPod(); pod != nil && lastExit(pod).After(last) {
			last = lastExit(pod)
		}
	}
	a.EndedAfterSeconds = since(last)
}

// answered reports whether the trainer has carried out the request of the drain, or has ended before the
// operator stopped it: a checkpoint alone may be one of its usual ones. It is true without a request.
func answered(o *Observation) bool {
	d, report := o.Job.Status.Drain, o.Checkpoints.Report
	if d.CommandID == "" || d.Deadline == nil || report != nil && report.CommandID == d.CommandID {
		return true
	}
	rank := o.Reporter()
	if rank == nil || rank.LastPod() == nil {
		return false
	}
	end := exitOf(rank.LastPod(), rank.Trainer)
	return end != nil && end.FinishedAt.Time.Before(d.Deadline.Time)
}

// savedAll reports whether a checkpoint has all steps that the trainer had reported when its end began. A
// checkpoint from before that time counts only if it has the last step of the attempt.
func savedAll(a *v1alpha1.RehearsalAttempt, latest *v1alpha1.CheckpointPoint) bool {
	if a.ResumeStep != nil && latest.Step <= *a.ResumeStep || a.EndStep != nil && latest.Step < *a.EndStep {
		return false
	}
	if e := a.Evidence; e != nil && e.LastStep != nil && latest.Step >= *e.LastStep {
		return true
	}
	return latest.Time == nil || !latest.Time.Time.Before(a.EndTime.Time)
}

// takeEvidence adds what the agents reported about attempts that trained. What a later report lacks stays.
func (r *Rehearsal) takeEvidence(o *Observation) {
	report := o.Checkpoints.Report
	if report == nil {
		return
	}
	for i := range report.Rehearsal {
		if a := r.find(report.Rehearsal[i].Attempt); a != nil && a.Attempt <= o.Job.Status.Attempt {
			merge(a, &report.Rehearsal[i])
			takeExit(a, report.Rehearsal[i].ExitCode)
			a.Interrupted = a.Interrupted || r.lacksRequest(a, &report.Rehearsal[i])
		}
	}
	a := r.find(report.Attempt)
	if a == nil || report.FirstStep == nil {
		return
	}
	if a.Evidence == nil {
		a.Evidence = &v1alpha1.RehearsalEvidence{}
	}
	if a.Evidence.FirstStep == nil {
		a.Evidence.FirstStep = new(*report.FirstStep)
	}
}

// takeExit records the exit code that the agent has recorded. The operator may have been away while the pod
// had it.
func takeExit(a *v1alpha1.RehearsalAttempt, code *int32) {
	if a.ExitCode != nil || code == nil {
		return
	}
	a.ExitCode = code
	a.Interrupted = a.Interrupted || isKill(a.Way) && *code != killedCode
}

// lacksRequest reports whether the trainer ended without an answer, and its agent recorded that the request
// to save and exit did not reach it, or later than graceSeconds before SIGTERM. The operator may have been
// away.
func (r *Rehearsal) lacksRequest(a *v1alpha1.RehearsalAttempt, e *checkpoint.Evidence) bool {
	ended := e.ExitCode != nil && e.Phase != checkpoint.PhaseCompleted
	return ended && !e.Requested && rehearsal.IsAsked(a) && !r.Policy.SavedInTime(a)
}

// merge overlays the fields that a report has. Of these, both types have the same (TestEvidenceFields).
func merge(a *v1alpha1.RehearsalAttempt, e *checkpoint.Evidence) {
	data, err := json.Marshal(e)
	if err != nil { // a report that was decoded from JSON can always be encoded
		return
	}
	merged := &v1alpha1.RehearsalEvidence{}
	if a.Evidence != nil {
		merged = a.Evidence
	}
	if json.Unmarshal(data, merged) == nil {
		a.Evidence = merged
	}
}
