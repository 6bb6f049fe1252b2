package trainingjob

import (
	"math"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// account adds up what a change of phase ends. It is part of the write that makes the change, so that everything is counted once
// however often it is seen.
func (p *pass) account(from, to v1alpha1.Phase) {
	if from == to {
		return
	}
	if to == v1alpha1.PhaseRunning {
		w := p.work()
		w.QueuedSeconds += p.since(v1alpha1.PhaseQueued)
		if ended, ok := p.interrupted(); ok {
			w.Resumptions++
			w.ResumeSeconds += seconds(p.Now.Sub(ended))
		}
	}
	if from == v1alpha1.PhaseRunning {
		p.work().RunningSeconds += p.since(v1alpha1.PhaseRunning)
		p.goodput()
	}
}

// interrupted: the gang that runs now ran before and was ended since, not because its user wanted it to pause; and since when. Attempts
// that ended before they ran are part of the same interruption. The order in the history tells, not the times: those have whole seconds,
// and a gang may run for less.
func (p *pass) interrupted() (since time.Time, is bool) {
	ran := p.last(v1alpha1.PhaseRunning)
	if ran < 0 || p.last(v1alpha1.PhaseSuspended) > ran {
		return time.Time{}, false
	}
	for _, t := range p.job.Status.Transitions[ran+1:] {
		if t.Phase == v1alpha1.PhaseDraining {
			return t.Time.Time, true
		}
	}
	return time.Time{}, false
}

// lose adds up what the end of a drained attempt has cost, once its resume point is pinned.
func (p *pass) lose() {
	steps, lost := p.forgone()
	if began, ended, ran := p.lastRun(); ran {
		w := p.work()
		w.Interruptions++
		s, l := p.undone(began, ended)
		steps, lost = max(steps, s), lost+l
		if cs := p.plan.Status.Checkpoint; cs != nil && cs.SaveSeconds > 0 && w.RunningSeconds > 0 {
			cs.SuggestedInterval = suggestedInterval(cs.SaveSeconds, w.RunningSeconds, w.Interruptions)
		}
	} else if steps == 0 {
		return
	}
	if steps > 0 {
		lost = max(lost, 1) // times in a status have whole seconds; no step takes none
	}
	w := p.work()
	w.LostSteps += steps
	w.LostSeconds += lost
	w.LostGPUSeconds += lost * p.job.Status.GPUs
	p.goodput()
}

// lastRun of the attempt that is drained, if it ran.
func (p *pass) lastRun() (began, ended time.Time, ran bool) {
	ts := p.job.Status.Transitions
	n := len(ts)
	if n < 2 || ts[n-1].Phase != v1alpha1.PhaseDraining || ts[n-2].Phase != v1alpha1.PhaseRunning {
		return began, ended, false
	}
	return ts[n-2].Time.Time, ts[n-1].Time.Time, true
}

// undone is what the attempt trained in its run and the next one must train again.
func (p *pass) undone(began, ended time.Time) (steps, lost int64) {
	safe, step := began, int64(0)
	if from := p.resumePoint(&p.plan.Status); from != nil {
		step = from.Step
		// A writer's clock that is wrong is not believed beyond the run.
		if t := from.Time; t != nil && t.After(safe) {
			safe = t.Time
		}
	}
	if reached, known := p.reached(); known {
		steps = max(0, reached-step)
	}
	return steps, seconds(ended.Sub(safe)) // none, where it was saved while the gang was ended
}

// forgone is what earlier attempts trained and this one was to go on from, where that checkpoint is lost and an older one, or none, is
// the resume point now: the steps between the two, and the running time, as far back as the job's history goes.
func (p *pass) forgone() (steps, lost int64) {
	before, now := p.resumePoint(&p.job.Status), p.resumePoint(&p.plan.Status)
	var from time.Time
	switch {
	case before == nil || now != nil && now.Step >= before.Step:
		return 0, 0
	case now == nil:
		steps = before.Step
	default:
		steps = before.Step - now.Step
		if now.Time == nil {
			return steps, 0 // not known
		}
		from = now.Time.Time
	}
	if before.Time == nil {
		return steps, 0 // not known
	}
	ts := p.job.Status.Transitions
	for i := range ts[:max(0, len(ts)-2)] { // without the last run, which is the attempt's own
		if ts[i].Phase != v1alpha1.PhaseRunning {
			continue
		}
		began, ended := ts[i].Time.Time, ts[i+1].Time.Time
		if from.After(began) {
			began = from
		}
		if before.Time.Time.Before(ended) {
			ended = before.Time.Time
		}
		lost += seconds(ended.Sub(began))
	}
	return steps, lost
}

// resumePoint in a status of the job, if it takes checkpoints.
func (p *pass) resumePoint(st *v1alpha1.TrainingJobStatus) *v1alpha1.CheckpointPoint {
	if st.Checkpoint == nil || Checkpoints(p.job) == nil {
		return nil
	}
	return st.Checkpoint.ResumeFrom
}

// suggestedInterval between checkpoints in seconds: the first-order optimum of Young (1974), which Daly (2006) refines; not less
// than a save takes.
func suggestedInterval(save int32, running int64, interruptions int32) int32 {
	between := float64(running) / float64(interruptions)
	return int32(min(max(math.Sqrt(2*float64(save)*between), float64(save)), math.MaxInt32))
}

// reached is the last step that the attempt is known to have trained.
func (p *pass) reached() (int64, bool) {
	step, known := int64(0), false
	if pr := p.plan.Status.Progress; pr != nil && pr.Attempt == p.job.Status.Attempt {
		step, known = pr.Step, true
	}
	if s := p.ev.step; s != nil {
		step, known = max(step, *s), true
	}
	return step, known
}

func (p *pass) work() *v1alpha1.WorkStatus {
	st := &p.plan.Status
	if st.Work == nil {
		st.Work = &v1alpha1.WorkStatus{}
	}
	return st.Work
}

func (p *pass) goodput() {
	created, w := p.job.CreationTimestamp, p.work()
	if total := seconds(p.Now.Sub(created.Time)); !created.IsZero() && total > 0 {
		percent := int32(min(100, max(0, (w.RunningSeconds-w.LostSeconds)*100/total)))
		w.Goodput = &percent
	}
}

// last is where the job's history has the last entry into a phase, as far back as it goes; -1: nowhere.
func (p *pass) last(phase v1alpha1.Phase) int {
	ts := p.job.Status.Transitions
	for i := len(ts) - 1; i >= 0; i-- {
		if ts[i].Phase == phase {
			return i
		}
	}
	return -1
}

func (p *pass) since(phase v1alpha1.Phase) int64 {
	i := p.last(phase)
	if i < 0 {
		return 0
	}
	return seconds(p.Now.Sub(p.job.Status.Transitions[i].Time.Time))
}

// seconds in whole ones; a clock that went back counts as none.
func seconds(d time.Duration) int64 { return max(0, int64(d/time.Second)) }
