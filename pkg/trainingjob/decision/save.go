package decision

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Heartbeat is how often an agent reports, and so the longest time that a command takes to reach it
// (pkg/agent).
const Heartbeat = 10 * time.Second

// requestSave requests a checkpoint before the operator stops the ranks. It needs a rank 0 that reports;
// other trainers only get SIGTERM and their grace period.
func requestSave(o *observation.Observation, d *v1alpha1.DrainStatus) {
	requestSaveUntil(o, d, time.Time{})
}

// requestSaveUntil is requestSave with a limit for the wait; zero: as long as a save can take. Preemptors set
// the limit.
func requestSaveUntil(o *observation.Observation, d *v1alpha1.DrainStatus, latest time.Time) {
	c, st := spec.Checkpoints(o.Job), &o.Job.Status
	if !CanRequestSave(o) {
		return
	}
	wait := Heartbeat + time.Duration(spec.OrDefault(c.GraceSeconds, spec.DefaultGraceSeconds))*time.Second
	if now := o.Time(); !latest.IsZero() {
		wait = max(0, min(wait, latest.Sub(now.Time)))
	}
	at := metav1.NewTime(o.Time().Add(wait))
	d.CommandID, d.Deadline = fmt.Sprintf("drain-%d", st.Attempt), &at
	d.Message += fmt.Sprintf("; the operator requests a checkpoint first (at most %s)", wait)
}

// CanRequestSave reports whether rank 0 reports to the operator, and the gang can save.
func CanRequestSave(o *observation.Observation) bool {
	st := &o.Job.Status
	return spec.Checkpoints(o.Job) != nil && o.Agent.ReportURL != "" && st.Phase == v1alpha1.PhaseRunning &&
		canSave(o) &&
		(o.Checkpoints.Report != nil || st.Progress != nil && st.Progress.Attempt == st.Attempt)
}

// Ahead returns the open request of the current attempt to save and train on; nil if there is none. Only a
// later checkpoint closes it.
func Ahead(st *v1alpha1.TrainingJobStatus) *v1alpha1.SaveAheadStatus {
	cs := st.Checkpoint
	if st.Phase != v1alpha1.PhaseRunning || cs == nil || cs.Ahead == nil || cs.Ahead.Attempt != st.Attempt ||
		cs.Latest != nil && cs.Latest.Step > cs.Ahead.AfterStep {
		return nil
	}
	return cs.Ahead
}

// SaveAhead records the request to save and train on, which is sent with the answer to the trainer's next
// report. It reports whether it recorded one.
func SaveAhead(o *observation.Observation, p *Plan) bool {
	st := &p.Status
	if o.SaveAhead == nil && !wantsCheckpoint(o) || !CanRequestSave(o) || Ahead(st) != nil {
		return false
	}
	cs := p.Checkpoint()
	cs.Ahead = &v1alpha1.SaveAheadStatus{
		Attempt: st.Attempt, CommandID: fmt.Sprintf("ahead-%d-%d", st.Attempt, o.Now.Unix()), Time: o.Time(),
	}
	if cs.Latest != nil {
		cs.Ahead.AfterStep = cs.Latest.Step
	}
	why := "for the rehearsal"
	if o.SaveAhead != nil {
		cs.Ahead.Name, why = o.SaveAhead.Name, "ahead of a preemption"
	}
	p.Note("request a checkpoint %s: %s", why, cs.Ahead.CommandID)
	return true
}

// saving reports whether the operator waits for the trainer to save, and until when at the latest.
func saving(o *observation.Observation) (time.Time, bool) {
	d := o.Job.Status.Drain
	if d == nil || d.Deadline == nil || !o.Now.Before(d.Deadline.Time) || !canSave(o) {
		return time.Time{}, false
	}
	if r := o.Checkpoints.Report; r != nil && r.CommandID == d.CommandID && !kills(d) {
		return time.Time{}, false // the command is done
	}
	return d.Deadline.Time, true
}

// canSave reports whether rank 0 runs and no other rank has failed, terminates, or is missing. Without it the
// ranks would hang in their next collective operation.
func canSave(o *observation.Observation) bool {
	rank := o.Reporter()
	return rank != nil && rank.State == observation.RankRunning &&
		o.Count(observation.RankFailed, observation.RankEnding) == 0 &&
		!slices.ContainsFunc(o.Ranks, departed) && !tooFew(o)
}

func departed(r observation.Rank) bool {
	return r.State == observation.RankMissing && r.Departed != nil
}

// tooFew reports whether fewer ranks run than minAvailable. An operator that was down does not know what
// happened to the others.
func tooFew(o *observation.Observation) bool {
	return o.Job.Status.Revision == spec.Revision(o.Job) && !o.EnoughUp()
}

// Answer returns the answer to a report of the job's current attempt. It depends only on persisted state, so
// that every replica of the operator returns the same.
func Answer(job *v1alpha1.TrainingJob) checkpoint.Answer {
	a := checkpoint.Answer{
		Command: checkpoint.CommandNone, Attempt: job.Status.Attempt,
		MinIntervalSeconds: int32(Heartbeat / time.Second),
	}
	if c := spec.Checkpoints(job); c != nil {
		settings := spec.CheckpointSettings(c)
		a.Settings, a.RetainLast = &settings, spec.OrDefault(c.KeepLast, 0)
	}
	if ahead := Ahead(&job.Status); ahead != nil {
		a.Command, a.ID = checkpoint.CommandCheckpoint, ahead.CommandID
	}
	if d := job.Status.Drain; job.Status.Phase == v1alpha1.PhaseDraining && d != nil && d.CommandID != "" {
		a.Command, a.ID = checkpoint.CommandCheckpointAndExit, d.CommandID
		if d.Deadline != nil {
			at := d.Deadline.UTC()
			a.Deadline = &at
		}
	}
	rehearsalAnswer(job, &a)
	return a
}

// Acknowledged reports whether the status has the reported commit or does not need it: it has a later one,
// the attempt is settled, or the job takes no checkpoints. The operator reads the result of a search from the
// termination message of its pod, so it keeps nothing of such a report.
func Acknowledged(job *v1alpha1.TrainingJob, r *checkpoint.Report) bool {
	save, st := r.Checkpoint, &job.Status
	if save == nil || save.State != checkpoint.SaveCommitted || r.Phase == checkpoint.PhaseResolved ||
		spec.Checkpoints(job) == nil || !spec.OwnsCheckpoint(job, save.URI) {
		return true
	}
	if r.Attempt < st.Attempt || observation.SettledForGood(job) {
		return true
	}
	return st.Checkpoint != nil && st.Checkpoint.Latest != nil && st.Checkpoint.Latest.Step >= save.Step
}
