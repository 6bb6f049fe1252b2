package history

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// keptTransitions is how many transitions a status keeps (pkg/trainingjob/decision, maxTransitions).
const keptTransitions = 20

// transitionsOf returns the transitions of a status, each with its attempt if known.
func transitionsOf(st *v1alpha1.TrainingJobStatus) []Transition {
	attempts := attributed(st)
	all := make([]Transition, len(st.Transitions))
	for i, t := range st.Transitions {
		all[i] = Transition{Time: second(t.Time), Phase: t.Phase, Reason: t.Reason, Attempt: attempts[i]}
		for _, earlier := range all[:i] {
			if sameButNth(earlier, all[i]) {
				all[i].Nth++
			}
		}
	}
	return joinTransitions(all, nil)
}

func sameButNth(a, b Transition) bool {
	a.Nth, b.Nth = 0, 0
	return a == b
}

// attributed returns the attempt of each transition, counted back from the current one; 0 if unknown because
// entries can be missing in between.
func attributed(st *v1alpha1.TrainingJobStatus) []int32 {
	ts := st.Transitions
	attempts := countBack(ts, 0, st.Attempt)
	if len(ts) < keptTransitions && (len(ts) == 0 || attempts[0] == 1) {
		return attempts // the history is complete
	}
	return countBack(ts, behindGaps(ts), st.Attempt)
}

// countBack numbers the transitions from an index on, of which none is missing.
func countBack(ts []v1alpha1.Transition, from int, current int32) []int32 {
	attempts, attempt := make([]int32, len(ts)), max(1, current)
	for i := len(ts) - 1; i >= from && attempt > 0; i-- {
		attempts[i] = attempt
		if i > from && beginsAttempt(ts[i-1].Phase, ts[i].Phase) {
			attempt--
		}
	}
	return attempts
}

// beginsAttempt reports whether a change of phase settles an attempt and begins the next one.
func beginsAttempt(from, to v1alpha1.Phase) bool {
	return from == v1alpha1.PhaseDraining &&
		(to == v1alpha1.PhaseRestarting || to == v1alpha1.PhaseQueued || to == v1alpha1.PhaseSuspended)
}

// behindGaps returns the index from which on no entry of a full history is missing. The operator drops the
// oldest entry, except the last run, its end and the last suspension. Only these can precede a gap; in the
// write that enters Running or Suspended, and the next one, also those kept before.
func behindGaps(ts []v1alpha1.Transition) int {
	run, suspension := spec.LastEntry(ts, v1alpha1.PhaseRunning), spec.LastEntry(ts, v1alpha1.PhaseSuspended)
	if recent := len(ts) - 2; run >= recent || suspension >= recent {
		return min(len(ts), 3)
	}
	kept := 0
	for kept == suspension || run >= 0 && (kept == run || kept == run+1) {
		kept++
	}
	return kept
}

// moment identifies a transition whose attempt can be unknown.
type moment struct {
	at     int64
	phase  v1alpha1.Phase
	reason string
}

func (t Transition) moment() moment { return moment{t.Time.Unix(), t.Phase, t.Reason} }

// joinTransitions returns the union of two sets. An entry with a known attempt replaces one of the same
// moment without.
func joinTransitions(a, b []Transition) []Transition {
	all := slices.Concat(a, b)
	known := map[moment]bool{}
	for _, t := range all {
		if t.Attempt > 0 {
			known[t.moment()] = true
		}
	}
	all = slices.DeleteFunc(all, func(t Transition) bool { return t.Attempt == 0 && known[t.moment()] })
	slices.SortFunc(all, byTime)
	return slices.Compact(all)
}

// byTime orders all transitions of a job by time, then by asTheyHappened.
func byTime(a, b Transition) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Attempt, b.Attempt), asTheyHappened(a, b))
}

// asTheyHappened orders the transitions of one attempt by phase, whatever clock their times are from. Only
// Queued and Suspended can alternate.
func asTheyHappened(a, b Transition) int {
	return cmp.Or(cmp.Compare(stage(a.Phase), stage(b.Phase)), a.Time.Compare(b.Time), cmp.Compare(a.Nth, b.Nth),
		cmp.Compare(turn(a), turn(b)), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Reason, b.Reason))
}

// stage returns the position of a phase in an attempt.
func stage(p v1alpha1.Phase) int {
	switch p {
	case v1alpha1.PhasePending, v1alpha1.PhaseRestarting:
		return 0
	case v1alpha1.PhaseQueued, v1alpha1.PhaseSuspended:
		return 1
	case v1alpha1.PhaseStarting:
		return 2
	case v1alpha1.PhaseRunning:
		return 3
	case v1alpha1.PhaseDraining:
		return 4
	}
	return 5
}

// turn orders Queued and Suspended within a second: a gang is queued, suspended and resumed.
func turn(t Transition) int {
	switch {
	case t.Phase == v1alpha1.PhaseSuspended:
		return 1
	case t.Reason == v1alpha1.ReasonResumed:
		return 2
	}
	return 0
}

// ofAttempts returns the transitions of each known attempt in order.
func ofAttempts(ts []Transition) map[int32][]Transition {
	of := map[int32][]Transition{}
	for _, t := range ts {
		if t.Attempt > 0 {
			of[t.Attempt] = append(of[t.Attempt], t)
		}
	}
	for _, ts := range of {
		slices.SortFunc(ts, asTheyHappened)
	}
	return of
}

// entered returns the first entry into one of some phases.
func entered(ts []Transition, phases ...v1alpha1.Phase) (Transition, bool) {
	for _, t := range ts {
		if slices.Contains(phases, t.Phase) {
			return t, true
		}
	}
	return Transition{}, false
}

// timeOf returns the time of a known transition, else nil.
func timeOf(t Transition, known bool) *time.Time {
	if !known {
		return nil
	}
	return &t.Time
}
