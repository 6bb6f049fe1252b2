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

// requestSave asks for a checkpoint before the ranks are ended, where the end can wait: it costs the time of
// a save and keeps the work since the last one. Only a rank 0 that is known to report is asked; any other
// gets SIGTERM and its grace period.
func requestSave(o *observation.Observation, d *v1alpha1.DrainStatus) {
	requestSaveUntil(o, d, time.Time{})
}

// requestSaveUntil is requestSave where somebody waits for the ranks' end, for no longer than until a time;
// zero: for as long as a save may take.
func requestSaveUntil(o *observation.Observation, d *v1alpha1.DrainStatus, latest time.Time) {
	c, st := spec.Checkpoints(o.Job), &o.Job.Status
	if !CanBeAsked(o) {
		return
	}
	wait := Heartbeat + time.Duration(spec.OrDefault(c.GraceSeconds, spec.DefaultGraceSeconds))*time.Second
	if now := o.Time(); !latest.IsZero() {
		wait = max(0, min(wait, latest.Sub(now.Time)))
	}
	at := metav1.NewTime(o.Time().Add(wait))
	d.CommandID, d.Deadline = fmt.Sprintf("drain-%d", st.Attempt), &at
	d.Message += fmt.Sprintf("; a checkpoint is asked for first (at most %s)", wait)
}

// CanBeAsked reports whether rank 0 is known to report, and the gang can save.
func CanBeAsked(o *observation.Observation) bool {
	st := &o.Job.Status
	return spec.Checkpoints(o.Job) != nil && o.Agent.ReportURL != "" && st.Phase == v1alpha1.PhaseRunning &&
		canSave(o) &&
		(o.Checkpoints.Report != nil || st.Progress != nil && st.Progress.Attempt == st.Attempt)
}

// Ahead returns the request to save and to train on that the current attempt has not answered; nil: there is
// none. The checkpoint answers it, whatever the trainer says.
func Ahead(st *v1alpha1.TrainingJobStatus) *v1alpha1.SaveAheadStatus {
	cs := st.Checkpoint
	if st.Phase != v1alpha1.PhaseRunning || cs == nil || cs.Ahead == nil || cs.Ahead.Attempt != st.Attempt ||
		cs.Latest != nil && cs.Latest.Step > cs.Ahead.AfterStep {
		return nil
	}
	return cs.Ahead
}

// SaveAhead records that the trainer is asked to save and to train on; the answer to its next report is read
// from there. It reports whether it did.
func SaveAhead(o *observation.Observation, p *Plan) bool {
	st := &p.Status
	if o.SaveAhead == nil || !CanBeAsked(o) || Ahead(st) != nil {
		return false
	}
	cs := p.Checkpoint()
	cs.Ahead = &v1alpha1.SaveAheadStatus{
		Attempt: st.Attempt, CommandID: fmt.Sprintf("ahead-%d-%d", st.Attempt, o.Now.Unix()), Time: o.Time(),
		Name: o.SaveAhead.Name,
	}
	if cs.Latest != nil {
		cs.Ahead.AfterStep = cs.Latest.Step
	}
	p.Note("asked to save ahead of a preemption: %s", cs.Ahead.CommandID)
	return true
}

// saving reports whether the ranks are left running until the trainer has saved, and until when.
func saving(o *observation.Observation) (time.Time, bool) {
	d := o.Job.Status.Drain
	if d == nil || d.Deadline == nil || !o.Now.Before(d.Deadline.Time) || !canSave(o) {
		return time.Time{}, false
	}
	if r := o.Checkpoints.Report; r != nil && r.CommandID == d.CommandID {
		return time.Time{}, false // it has carried the command out
	}
	return d.Deadline.Time, true
}

// canSave reports whether rank 0 runs and no other rank has failed, is being ended, or has gone. The others
// would hang in their next collective operation.
func canSave(o *observation.Observation) bool {
	rank := o.Reporter()
	return rank != nil && rank.State == observation.RankRunning &&
		o.Count(observation.RankFailed, observation.RankEnding) == 0 &&
		!slices.ContainsFunc(o.Ranks, departed) && !tooFew(o)
}

func departed(r observation.Rank) bool {
	return r.State == observation.RankMissing && r.Departed != nil
}

// tooFew reports whether fewer ranks are left than must run together, whatever has become of the others: an
// operator that was away does not know.
func tooFew(o *observation.Observation) bool {
	return o.Job.Status.Revision == spec.Revision(o.Job) && !o.EnoughUp()
}

// Answer is the answer to a report of the job's current attempt. It depends on nothing but what is persisted,
// so that every replica of the operator gives the same.
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
	return a
}

// Acknowledged reports whether the status holds the commit that a report tells of, or never will: because it
// has a later one, because the attempt is settled, or because the job takes no checkpoints. The result of a
// search reaches the operator as the termination message of its pod, so nothing of its report has to be kept.
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
