package account

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// recordWork adds to status.work at a change of phase: the time in the queue, the time that the gang ran and,
// when a drained attempt is settled, the lost work. The write of the change includes it, so that it is
// counted once.
func recordWork(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	from, to := o.Job.Status.Phase, p.Status.Phase
	if from != to && to == v1alpha1.PhaseRunning {
		w := work(p)
		w.QueuedSeconds += secondsSince(o, v1alpha1.PhaseQueued)
		if ended, ok := interrupted(o.Job); ok {
			w.Resumptions++
			w.ResumeSeconds += seconds(o.Now.Sub(ended))
		}
	}
	if since, made := placedAfterYield(o.Job, to); made {
		w := work(p)
		w.RoomMade++
		w.RoomSeconds += seconds(o.Now.Sub(since))
	}
	if from != to && from == v1alpha1.PhaseRunning {
		work(p).RunningSeconds += secondsSince(o, v1alpha1.PhaseRunning)
		setGoodput(o, p)
	}
	if d := o.Job.Status.Drain; outcome.Settled && (d == nil || d.Cause != v1alpha1.CauseRehearsal) {
		recordLoss(o, p, outcome.ResumePoint)
	}
}

// placedAfterYield reports whether a job that enters a phase is placed after victims yielded, and since
// when it lacked capacity.
func placedAfterYield(job *v1alpha1.TrainingJob, to v1alpha1.Phase) (since time.Time, made bool) {
	if job.Status.Phase != v1alpha1.PhaseQueued || to != v1alpha1.PhaseStarting && to != v1alpha1.PhaseRunning {
		return since, false
	}
	s := job.Status.Scheduling
	if s == nil || s.Preemption == nil || s.Preemption.BlockedTime == nil ||
		!observation.IsOutstanding(s.Preemption) {
		return since, false
	}
	return s.Preemption.BlockedTime.Time, true
}

// interrupted reports whether the gang that runs now ran before and was stopped, and when. A suspension does
// not count. Attempts that ended before they ran belong to the same interruption. It uses the order of the
// history, not its times: these have whole seconds, and a gang can run for less.
func interrupted(job *v1alpha1.TrainingJob) (since time.Time, is bool) {
	ran := last(job, v1alpha1.PhaseRunning)
	if ran < 0 || last(job, v1alpha1.PhaseSuspended) > ran {
		return time.Time{}, false
	}
	for _, t := range job.Status.Transitions[ran+1:] {
		if t.Phase == v1alpha1.PhaseDraining {
			return t.Time.Time, t.Reason != v1alpha1.ReasonRehearsalPlayed
		}
	}
	return time.Time{}, false
}

// recordLoss adds the work that the end of a drained attempt lost, given the resume point of the next one.
func recordLoss(o *observation.Observation, p *decision.Plan, now *v1alpha1.CheckpointPoint) {
	if d := o.Job.Status.Drain; d != nil && d.MakesRoom != nil && d.MakesRoom.Recalls {
		work(p).Recalled++
	}
	began, ended, ran := lastRun(o.Job)
	steps, lost := forgone(o.Job, now, seconds(ended.Sub(began)))
	if !ran && steps == 0 {
		return
	}
	w := work(p)
	if ran {
		w.Interruptions++
		s, l := undone(o, p, now, began, ended)
		steps, lost = max(steps, s), lost+l
		if cs := p.Status.Checkpoint; cs != nil && cs.SaveSeconds > 0 && w.RunningSeconds > 0 {
			cs.SuggestedInterval = suggestedInterval(cs.SaveSeconds, w.RunningSeconds, w.Interruptions)
		}
	}
	if steps > 0 {
		lost = max(lost, 1) // times in a status have whole seconds, and no step takes none
	}
	w.LostSteps += steps
	w.LostSeconds += lost
	w.LostGPUSeconds += lost * o.Job.Status.GPUs
	if d := o.Job.Status.Drain; d != nil && d.Cause == v1alpha1.CauseBrokered {
		w.PreemptedLostGPUSeconds += lost * o.Job.Status.GPUs
		recordAnswer(w, d, steps == 0)
	}
	setGoodput(o, p)
}

// recordAnswer counts the answers to requests for a checkpoint before a preemption.
func recordAnswer(w *v1alpha1.WorkStatus, d *v1alpha1.DrainStatus, saved bool) {
	switch {
	case d.CommandID == "":
		return
	case saved:
		w.Saved, w.AskedInVain = w.Saved+1, 0
	default:
		w.AskedInVain++
	}
	w.Asked++
}

// lastRun returns when the attempt that drains ran, if it did.
func lastRun(job *v1alpha1.TrainingJob) (began, ended time.Time, ran bool) {
	ts := job.Status.Transitions
	n := len(ts)
	if n < 2 || ts[n-1].Phase != v1alpha1.PhaseDraining || ts[n-2].Phase != v1alpha1.PhaseRunning {
		return began, ended, false
	}
	return ts[n-2].Time.Time, ts[n-1].Time.Time, true
}

// undone returns what the attempt trained in its run and the next one must train again.
func undone(
	o *observation.Observation, p *decision.Plan, from *v1alpha1.CheckpointPoint, began, ended time.Time,
) (steps, lost int64) {
	safe, step := began, int64(0)
	if from != nil {
		step = from.Step
		// The clock of a writer is not trusted beyond the run.
		if t := from.Time; t != nil && t.After(safe) {
			safe = t.Time
		}
	}
	if reached, known := lastStep(o, p); known {
		steps = max(0, reached-step)
	}
	return steps, seconds(ended.Sub(safe)) // 0 if it was saved while the gang was stopped
}

// forgone returns the training of earlier attempts that is lost if the next resume point is older than this
// attempt's. These are the steps between the two, and the running time between them if one run saved both.
// Otherwise some of that time was counted as lost before. The time is then the steps' share of the running
// time before this attempt that was not lost.
func forgone(job *v1alpha1.TrainingJob, now *v1alpha1.CheckpointPoint, lastRun int64) (steps, lost int64) {
	before := resumePoint(job)
	if before == nil || before.Step <= 0 || now != nil && now.Step >= before.Step {
		return 0, 0
	}
	steps = before.Step
	if now != nil {
		steps -= now.Step
		if lost, known := betweenSaves(job, now.Time, before.Time); known {
			return steps, lost
		}
	}
	if w := job.Status.Work; w != nil {
		kept := max(0, w.RunningSeconds-lastRun-w.LostSeconds)
		lost = int64(math.Round(float64(kept) * float64(steps) / float64(before.Step)))
	}
	return steps, lost
}

// betweenSaves returns the running time between two saves of one run of an earlier attempt; false if unknown.
func betweenSaves(job *v1alpha1.TrainingJob, from, to *metav1.Time) (int64, bool) {
	if from == nil || to == nil {
		return 0, false
	}
	ts := job.Status.Transitions
	for i := max(0, len(ts)-2) - 1; i >= 0; i-- { // without the last run, that of the attempt
		began, ended := ts[i].Time.Time, ts[i+1].Time.Time
		if ts[i].Phase != v1alpha1.PhaseRunning || began.After(to.Time) {
			continue
		}
		if began.After(from.Time) {
			return 0, false
		}
		return seconds(earlier(to.Time, ended).Sub(earlier(from.Time, ended))), true
	}
	return 0, false
}

// earlier returns the earlier of two times. A run can save while it is stopped, so writers' clocks are
// bounded.
func earlier(a, b time.Time) time.Time {
	return slices.MinFunc([]time.Time{a, b}, time.Time.Compare)
}

// resumePoint of the attempt that is drained, if its job takes checkpoints.
func resumePoint(job *v1alpha1.TrainingJob) *v1alpha1.CheckpointPoint {
	if job.Status.Checkpoint == nil || spec.Checkpoints(job) == nil {
		return nil
	}
	return job.Status.Checkpoint.ResumeFrom
}

// suggestedInterval between checkpoints in seconds: the first-order optimum of Young (1974), which Daly
// (2006) refines; at least as long as a save takes. save and running are in seconds.
func suggestedInterval(save int32, running int64, interruptions int32) int32 {
	between := float64(running) / float64(interruptions)
	return int32(min(max(math.Sqrt(2*float64(save)*between), float64(save)), math.MaxInt32))
}

// lastStep that the attempt is known to have trained: by its reports, its termination message, and what it
// saved, which tells of a step too where the others came too late to be written.
func lastStep(o *observation.Observation, p *decision.Plan) (int64, bool) {
	step, known := int64(0), false
	if pr := p.Status.Progress; pr != nil && pr.Attempt == o.Job.Status.Attempt {
		step, known = pr.Step, true
	}
	if s := o.Checkpoints.Step; s != nil {
		step, known = max(step, *s), true
	}
	if saved := savedStep(o.Job); saved > 0 {
		step, known = max(step, saved), true
	}
	return step, known
}

// savedStep is the step of the latest checkpoint of this attempt; 0 where the latest is what it resumed from.
func savedStep(job *v1alpha1.TrainingJob) int64 {
	cs := job.Status.Checkpoint
	if cs == nil || cs.Latest == nil || cs.ResumeFrom != nil && cs.Latest.Step <= cs.ResumeFrom.Step {
		return 0
	}
	return cs.Latest.Step
}

func work(p *decision.Plan) *v1alpha1.WorkStatus {
	if p.Status.Work == nil {
		p.Status.Work = &v1alpha1.WorkStatus{}
	}
	return p.Status.Work
}

func setGoodput(o *observation.Observation, p *decision.Plan) {
	created, w := o.Job.CreationTimestamp, work(p)
	if total := seconds(o.Now.Sub(created.Time)); !created.IsZero() && total > 0 {
		percent := int32(min(100, max(0, (w.RunningSeconds-w.LostSeconds)*100/total)))
		w.Goodput = &percent
	}
}

// last is the index of the last entry into a phase in the job's history; -1 when it has none.
func last(job *v1alpha1.TrainingJob, phase v1alpha1.Phase) int {
	return spec.LastEntry(job.Status.Transitions, phase)
}

// secondsSince the job last entered a phase; 0 when the history does not say.
func secondsSince(o *observation.Observation, phase v1alpha1.Phase) int64 {
	i := last(o.Job, phase)
	if i < 0 {
		return 0
	}
	return seconds(o.Now.Sub(o.Job.Status.Transitions[i].Time.Time))
}

// seconds in whole ones; 0 for a clock that went back.
func seconds(d time.Duration) int64 { return max(0, int64(d/time.Second)) }
