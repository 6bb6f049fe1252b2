package liveness

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// unlabelledLimit is the least limit of a trainer that labels no evaluation.
	unlabelledLimit = time.Hour
	// stepsOfLimit, pausesOfLimit and startOfLimit are how many steps, pauses and times to the first step a gang
	// may be idle in Training.
	stepsOfLimit, pausesOfLimit, startOfLimit = 20, 3, 1.5
	// intervalsOfLimit: beats of all ranks arrive before the limit, and a silent rank is known by then.
	intervalsOfLimit = SilentAfter + 1
)

// limit returns the longest limit of the phases that the ranks are in.
func (j *judgement) limit() time.Duration {
	l := j.gang.Limits
	limit, training, labels := time.Duration(0), time.Duration(0), l.HangChosen
	for _, r := range j.reporters {
		labels = labels || r.Beat.Labels
		if phase, own := j.phaseLimit(r.Beat); own {
			limit = max(limit, phase)
			continue
		}
		if training == 0 {
			training = j.trainingLimit()
		}
	}
	if training > 0 && !labels && j.on.has(unlabelled) {
		training = max(training, unlabelledLimit)
	}
	limit = max(limit, training)
	if j.on.has(intervalLimit) {
		limit = max(limit, intervalsOfLimit*j.interval)
	}
	return max(limit, time.Second)
}

// phaseLimit returns the limit of the phase that a rank is in; false in phase Training.
func (j *judgement) phaseLimit(b *checkpoint.Beat) (time.Duration, bool) {
	l := j.gang.Limits
	switch b.Phase {
	case checkpoint.PhaseSaving:
		return l.Saving, j.on.has(savingLimit)
	case checkpoint.PhaseEvaluating, checkpoint.PhaseWaiting, checkpoint.PhaseCompleted:
		return l.LongPhase, j.on.has(longPhaseLimit)
	case checkpoint.PhaseStarting:
		return l.FirstStep, j.on.has(firstStepLimit)
	}
	return l.FirstStep, b.Step == nil && j.on.has(firstStepLimit)
}

// trainingLimit returns the limit of phase Training, which the job's steps and pauses lengthen.
func (j *judgement) trainingLimit() time.Duration {
	l := j.gang.Limits
	limit := l.Hang
	if j.on.has(stepLimit) {
		limit = max(limit, times(stepsOfLimit, max(j.verdict.StepTime, j.gang.Past.Step)))
	}
	if j.on.has(startLimit) {
		start := longest(j.reporters, func(b *checkpoint.Beat) float64 { return b.FirstStepSeconds })
		limit = max(limit, times(startOfLimit, start))
	}
	if j.on.has(pauseLimit) {
		limit = max(limit, times(pausesOfLimit, max(j.verdict.LongestPause, j.gang.Past.LongestPause)))
	}
	if j.on.has(atMostLong) {
		limit = max(l.Hang, min(limit, l.LongPhase))
	}
	return limit
}

// times multiplies a duration, which it takes for at most maxSeconds.
func times(n float64, d time.Duration) time.Duration {
	return time.Duration(n * float64(min(d, seconds(maxSeconds))))
}
