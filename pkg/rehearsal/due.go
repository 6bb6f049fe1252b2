package rehearsal

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	// moreSteps to train before the operator ends an attempt or requests a checkpoint.
	moreSteps = 5
	// quietTime is how long an attempt runs that reports no steps and saves nothing, before the operator ends
	// it.
	quietTime = 2 * time.Minute
	// quietOverlap is how long an attempt runs whose checkpoints are known and whose steps are not.
	quietOverlap = time.Minute
	// evaluationWait is how long the operator waits, after the steps are trained, for a trainer that
	// evaluates to begin an evaluation, and evaluationSteps how many steps.
	evaluationWait  = 2 * time.Minute
	evaluationSteps = 1000
)

// Running is the state of the attempt that runs, which is the last of the attempts.
type Running struct {
	// Ran is for how long the attempt has run, and Total for how long all have.
	Ran, Total time.Duration
	// Step that rank 0 has reported; nil: none.
	Step *int64
}

// Due reports whether the operator ends the running attempt now.
func Due(p Policy, attempts []attempt, now Running) bool {
	if len(attempts) == 0 {
		return false
	}
	a, way := &attempts[len(attempts)-1], Next(p, attempts)
	if now.Step == nil {
		return dueQuiet(a, way, now)
	}
	trained := *now.Step - first(a, now)
	late := now.Ran >= p.share() && trained >= moreSteps
	switch way {
	case v1alpha1.RehearsalKill:
		saves := evidence(a).Saves
		return a.SavedStep != nil && saves >= 2 && *now.Step >= *a.SavedStep+max(1, p.OverlapSteps>>(saves-2))
	case "":
		return late || *now.Step >= resumeOf(a, now)+p.OverlapSteps
	case v1alpha1.RehearsalAsk:
		return late || isAhead(attempts, now) && !awaitsEvaluation(attempts, now)
	case v1alpha1.RehearsalKillInSave:
		return a.SavedStep != nil && (late || isAhead(attempts, now) && hasOwnSave(a))
	}
	return a.SavedStep != nil && (late || isAhead(attempts, now))
}

// share of the time that one attempt gets.
func (p Policy) share() time.Duration { return p.Timeout / time.Duration(len(p.Ways)+1) }

// dueQuiet is Due for an attempt without steps: only its checkpoints and the time are known.
func dueQuiet(a *attempt, way v1alpha1.RehearsalWay, now Running) bool {
	if way == v1alpha1.RehearsalKill {
		return evidence(a).Saves >= 2 && now.Ran >= quietOverlap
	}
	if way == v1alpha1.RehearsalAsk || way == "" {
		return now.Ran >= quietTime
	}
	newer := a.SavedStep != nil && (a.ResumeStep == nil || *a.SavedStep > *a.ResumeStep)
	return newer && now.Ran >= quietOverlap || a.SavedStep != nil && now.Ran >= quietTime
}

// isAhead reports whether the attempt has trained more steps than any before it.
func isAhead(attempts []attempt, now Running) bool {
	need, known := reached(attempts[:len(attempts)-1])
	if !known {
		need = first(&attempts[len(attempts)-1], now)
	}
	return *now.Step >= need+moreSteps
}

// awaitsEvaluation reports whether the trainer evaluates now and then, and the operator waits for an
// evaluation to request a checkpoint in. The wait is bounded by the steps that the attempt trains meanwhile.
func awaitsEvaluation(attempts []attempt, now Running) bool {
	a := &attempts[len(attempts)-1]
	if evidence(a).Phase == evaluating {
		return false
	}
	evaluates, stepTime := false, int64(0)
	for i := range attempts {
		e := evidence(&attempts[i])
		evaluates = evaluates || e.Evaluated || e.Phase == evaluating
		stepTime = max(stepTime, e.StepMilliseconds)
	}
	need, known := reached(attempts[:len(attempts)-1])
	if !evaluates || !known {
		return false
	}
	more := *now.Step - need - moreSteps
	return more < evaluationSteps && time.Duration(more*max(1, stepTime))*time.Millisecond < evaluationWait
}

const evaluating = "Evaluating"

// WantsSave reports whether the operator requests a checkpoint with which the attempt trains on.
func WantsSave(p Policy, attempts []attempt, now Running) bool {
	if len(attempts) == 0 || now.Step == nil {
		return false
	}
	a := &attempts[len(attempts)-1]
	saved := first(a, now)
	if a.SavedStep != nil {
		saved = max(saved, *a.SavedStep)
	}
	if *now.Step < saved+moreSteps {
		return false
	}
	switch Next(p, attempts) {
	case v1alpha1.RehearsalKill:
		return evidence(a).Saves < 2
	case v1alpha1.RehearsalTerm:
		return a.SavedStep == nil
	case v1alpha1.RehearsalKillInSave:
		return !hasOwnSave(a)
	}
	return false
}

// hasOwnSave reports whether a checkpoint of the attempt is complete. The save that is cut off next must not
// overwrite it.
func hasOwnSave(a *attempt) bool {
	return evidence(a).Saves > 0 || a.SavedStep != nil && (a.ResumeStep == nil || *a.SavedStep > *a.ResumeStep)
}

// SavesNothing reports whether no checkpoint is complete although the attempt has trained for long enough. It
// is false for a trainer that reports no step: it may still start.
func SavesNothing(p Policy, attempts []attempt, now Running) bool {
	if now.Step == nil {
		return false
	}
	for i := range attempts {
		if attempts[i].SavedStep != nil {
			return false
		}
	}
	return len(attempts) > 0 &&
		(now.Ran >= saveDeadline(p, &attempts[len(attempts)-1]) || now.Total >= p.Timeout)
}

func saveDeadline(p Policy, a *attempt) time.Duration {
	return p.SaveLimit + time.Duration(evidence(a).StartMilliseconds)*time.Millisecond
}

// Wait returns after how long the answers above can differ without another report; at most an hour.
func Wait(p Policy, attempts []attempt, now Running) time.Duration {
	next := time.Hour
	limits := []time.Duration{quietOverlap, quietTime, p.share(), now.Ran + p.Timeout - now.Total}
	if len(attempts) > 0 {
		limits = append(limits, saveDeadline(p, &attempts[len(attempts)-1]))
	}
	for _, limit := range limits {
		if d := limit - now.Ran; d > 0 {
			next = min(next, d)
		}
	}
	return next
}

// first returns the first step of the attempt.
func first(a *attempt, now Running) int64 {
	if f := evidence(a).FirstStep; f != nil {
		return *f
	}
	return *now.Step
}

// resumeOf returns the step after which the attempt trains.
func resumeOf(a *attempt, now Running) int64 {
	if a.ResumeStep != nil {
		return *a.ResumeStep
	}
	return first(a, now)
}
