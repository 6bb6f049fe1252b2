package rehearsal

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// MaxInterruptions is how often something else may end an attempt before the rehearsal is incomplete.
const MaxInterruptions = 2

// Policy is spec.rehearsal with its defaults, and what the checks need of the rest of the job.
type Policy struct {
	// Ways to end attempts, in this order.
	Ways []v1alpha1.RehearsalWay
	// OverlapSteps to train twice.
	OverlapSteps int64
	// Exact: losses must have the same text. TolerancePercent of the median difference passes without it.
	Exact            bool
	TolerancePercent int64
	// Timeout of the running time of all attempts, and again of the time in the queue.
	Timeout time.Duration
	// SaveLimit is how long after the first step a checkpoint must be complete.
	SaveLimit time.Duration
	// GraceSeconds of a save.
	GraceSeconds int64
	// KeepLast checkpoints; 0: the agent deletes none.
	KeepLast int32
	// Ranks of the gang.
	Ranks int32
}

// attempt is what the operator did to one attempt, and what it and the agents saw.
type attempt = v1alpha1.RehearsalAttempt

// Played returns how many ways were played without an interruption.
func Played(attempts []attempt) int {
	n := 0
	for i := range attempts {
		if a := &attempts[i]; a.Way != "" && !a.Interrupted {
			n++
		}
	}
	return n
}

// Interruptions returns how many attempts something else ended.
func Interruptions(attempts []attempt) int {
	n := 0
	for i := range attempts {
		if attempts[i].Interrupted {
			n++
		}
	}
	return n
}

// Next returns the way in which the last of the attempts, which runs, will end; "" if it is the last one of
// the rehearsal.
func Next(p Policy, attempts []attempt) v1alpha1.RehearsalWay {
	if len(attempts) == 0 {
		return p.Ways[0]
	}
	if n := Played(attempts[:len(attempts)-1]); n < len(p.Ways) {
		return p.Ways[n]
	}
	return ""
}

// evidence of an attempt; empty without any.
func evidence(a *attempt) v1alpha1.RehearsalEvidence {
	if a.Evidence == nil {
		return v1alpha1.RehearsalEvidence{}
	}
	return *a.Evidence
}

// reached returns the highest step that the attempts trained; false if none is known.
func reached(attempts []attempt) (step int64, known bool) {
	for i := range attempts {
		for _, s := range []*int64{attempts[i].EndStep, evidence(&attempts[i]).LastStep} {
			if s != nil && (!known || *s > step) {
				step, known = *s, true
			}
		}
	}
	return step, known
}
