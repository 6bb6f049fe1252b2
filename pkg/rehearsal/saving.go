package rehearsal

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// The checks of how a trainer reports, saves and ends.

// requestSeconds is how long a request for a checkpoint can take to reach the trainer.
const requestSeconds = 10

func (g *play) reports() verdict {
	if g.reporting() {
		return passed(0, "rank 0 reports its steps")
	}
	for i := range g.attempts {
		a := &g.attempts[i]
		stopped := a.Way != "" || a.EndTime != nil || g.end.SavesNothing
		if g.ended(i) && a.Failure == "" && !a.Interrupted && stopped {
			return failed(a.Attempt, "no status file: it cannot be asked to save, and is killed with its unsaved "+
				"work: write the step to $TRAININGJOB_STATUS_FILE")
		}
	}
	return notSeen("no attempt has trained a step yet")
}

func (g *play) saves() verdict {
	longest, saved := int64(0), false
	for i := range g.attempts {
		longest = max(longest, evidence(&g.attempts[i]).SaveMilliseconds)
		saved = saved || g.attempts[i].SavedStep != nil
	}
	switch {
	case saved && longest > 0:
		return passed(0, "a save takes %s", age(longest))
	case saved:
		return passed(0, "complete checkpoints appear")
	case !g.end.SavesNothing || len(g.attempts) == 0:
		return notSeen("no checkpoint is complete yet")
	}
	a := &g.attempts[len(g.attempts)-1]
	outside := ""
	if e := evidence(a); e.OutsidePath != "" {
		outside = fmt.Sprintf("; it wrote %s to %s", size(e.OutsideBytes), e.OutsidePath)
	}
	return failed(a.Attempt, "nothing complete lies below it %ds after the first step%s: write below "+
		"$CHECKPOINT_DIR",
		int64(g.SaveLimit.Seconds()), outside)
}

// IsAsked reports whether the operator requested a checkpoint and an exit.
func IsAsked(a *attempt) bool {
	return a.Way == v1alpha1.RehearsalAsk || a.Way == "" && a.EndTime != nil && a.Failure == ""
}

// SavedInTime reports whether the operator saw the save that it requested within graceSeconds and the time
// that a request can take.
func (p Policy) SavedInTime(a *attempt) bool {
	s := a.SavedAfterSeconds
	return s != nil && *s <= p.GraceSeconds+requestSeconds
}

func (g *play) savesInTime() verdict {
	if !g.reporting() {
		return notSeen("the trainer reports no step, so it cannot be asked")
	}
	best, seen, worst := int64(0), false, verdict{}
	for i := range g.attempts {
		a := &g.attempts[i]
		if v, slow := g.slowSave(a); slow {
			return v
		}
		if a.Interrupted || a.EndStep == nil || !g.ended(i) {
			continue
		}
		if rightly, known := began(a); known && !rightly && a.SavedAfterSeconds == nil {
			continue // its steps differ from those of its checkpoints, which Resumes reports
		}
		if g.savedUnseen(a) {
			best, seen = max(best, *a.EndedAfterSeconds), true
			continue
		}
		if IsAsked(a) {
			if v, late := g.lateSave(a); late {
				return v
			}
		} else if a.Way == v1alpha1.RehearsalTerm && a.SavedAfterSeconds == nil {
			worst = warning(a.Attempt, "the pods were deleted at step %d, and it did not save: %s lost each time; "+
				"save at SIGTERM", *a.EndStep, lostSteps(a))
		}
		if a.SavedAfterSeconds != nil {
			best, seen = max(best, *a.SavedAfterSeconds), true
		}
	}
	switch {
	case worst.outcome != "":
		return worst
	case seen:
		return passed(0, "saved within %ds of %ds", best, g.GraceSeconds)
	}
	return notSeen("no attempt was asked to save yet")
}

// savedAll reports whether a checkpoint has all steps that the trainer had reported when its end began.
func savedAll(a *attempt) bool {
	return a.SavedStep != nil && a.EndStep != nil && *a.SavedStep >= *a.EndStep &&
		(a.ResumeStep == nil || *a.SavedStep > *a.ResumeStep)
}

// savedUnseen reports whether an attempt saved in time while the operator was away.
func (g *play) savedUnseen(a *attempt) bool {
	s := a.EndedAfterSeconds
	return a.SavedAfterSeconds == nil && savedAll(a) && s != nil && *s < g.GraceSeconds+requestSeconds
}

// lostSteps returns the steps after the newest checkpoint of an attempt.
func lostSteps(a *attempt) string {
	if a.SavedStep == nil {
		return "all steps are"
	}
	n := *a.EndStep - *a.SavedStep
	if n == 1 {
		return "1 step is"
	}
	return fmt.Sprintf("%d steps are", n)
}

// slowSave reports whether a save takes longer than the grace.
func (g *play) slowSave(a *attempt) (verdict, bool) {
	ms := evidence(a).SaveMilliseconds
	if ms <= 1000*g.GraceSeconds {
		return verdict{}, false
	}
	return failed(a.Attempt, "a save takes %s, graceSeconds is %d: set graceSeconds: %d (one and a half "+
		"times)", age(ms), g.GraceSeconds, (ms*3+1999)/2000), true
}

// lateSave reports whether a trainer that was asked did not save before its deadline.
func (g *play) lateSave(a *attempt) (verdict, bool) {
	if g.SavedInTime(a) {
		return verdict{}, false
	}
	limit, late := g.GraceSeconds+requestSeconds, ""
	if s := a.SavedAfterSeconds; s != nil {
		late = fmt.Sprintf(" and answered %ds after its end", *s-limit)
	}
	if a.SavedAfterSeconds == nil && a.ExitCode != nil && *a.ExitCode == 0 && a.EndedAfterSeconds != nil &&
		*a.EndedAfterSeconds <= limit {
		return failed(a.Attempt, "asked in %s, it exited with 0 after %ds without a checkpoint of step %d: save "+
			"before the exit", phase(a), *a.EndedAfterSeconds, *a.EndStep), true
	}
	remedy := "read $TRAININGJOB_COMMAND_FILE after each step"
	if a.EndPhase == evaluating {
		remedy = "read the command file in that loop too"
	}
	return failed(a.Attempt, "asked in %s, it did not save within %ds%s: "+
		"%s", phase(a), limit, late, remedy), true
}

func phase(a *attempt) string {
	if a.EndPhase == "" {
		return "Training"
	}
	return a.EndPhase
}

func (g *play) exit() verdict {
	worst, unknown, seen := verdict{}, verdict{}, 0
	for i := range g.attempts {
		a := &g.attempts[i]
		if a.Failure != "" && !a.Interrupted && !failedToStart(a) {
			return failed(a.Attempt, "attempt %d failed by itself: %s", a.Attempt, a.Failure)
		}
		stopped := IsAsked(a) || a.Way == v1alpha1.RehearsalTerm
		if a.Interrupted || !stopped || !g.ended(i) || a.SavedAfterSeconds == nil && !g.savedUnseen(a) {
			continue
		}
		switch saved := savedIn(a); {
		case a.ExitCode == nil:
			unknown = notSeen("attempt %d %s, and its pod is deleted: neither the operator nor the next "+
				"attempt's agent saw its exit code", a.Attempt, saved)
		case *a.ExitCode == 0:
			seen++
		case *a.ExitCode == killedCode:
			worst = warning(a.Attempt, "it %s and then did not exit, so it was killed: exit with 0 after "+
				"the save", saved)
		case *a.ExitCode == terminatedCode:
			worst = warning(a.Attempt, "it %s, and SIGTERM ended it while it exited (143): a preemption forgives "+
				"that, a drained rank seen late counts as a failure; ignore SIGTERM after the save", saved)
		default:
			worst = warning(a.Attempt, "it %s and then exited with %d: a preemption forgives that, a "+
				"drained rank seen late counts as a failure; exit with 0", saved, *a.ExitCode)
		}
	}
	switch {
	case worst.outcome != "":
		return worst
	case unknown.outcome != "":
		return unknown
	case seen > 0:
		return passed(0, "it exits with 0 after a save")
	}
	return notSeen("no exit after a save was seen yet")
}

// Exit codes of a trainer that SIGKILL and SIGTERM ended.
const (
	killedCode     = 137
	terminatedCode = 143
)

// savedIn returns that an attempt saved, and in which time if the operator saw it.
func savedIn(a *attempt) string {
	if a.SavedAfterSeconds == nil {
		return "saved"
	}
	return fmt.Sprintf("saved in %ds", *a.SavedAfterSeconds)
}

// failedToStart reports whether an attempt that resumed failed before its first step. Resumes or Torn report
// it.
func failedToStart(a *attempt) bool {
	return a.Failure != "" && a.ResumeStep != nil && evidence(a).FirstStep == nil
}

func (g *play) retention() verdict {
	left, counted := verdict{}, false
	for i := range g.attempts {
		a, e := &g.attempts[i], evidence(&g.attempts[i])
		lost := a.ResumeStep != nil && (a.SavedStep == nil || *a.SavedStep < *a.ResumeStep)
		if _, torn := g.tornBy(i); torn {
			continue
		}
		if lost && g.ended(i) && a.Way != v1alpha1.RehearsalKillInSave && !a.Interrupted {
			return failed(a.Attempt, "the checkpoint of step %d that attempt %d resumed from is deleted or "+
				"damaged: keep it until a newer one is complete", *a.ResumeStep, a.Attempt)
		}
		if e.CompleteLeft == nil {
			continue
		}
		n := *e.CompleteLeft
		counted = true
		switch {
		case g.KeepLast > 0 && n > g.KeepLast+1+g.newSaves(i):
			left = warning(a.Attempt, "%d complete checkpoints are left, keepLast is %d: set "+
				"spec.checkpoint.keepLast, or delete older ones", n, g.KeepLast)
		case e.StrayFiles > g.savesUntil(i):
			left = warning(a.Attempt, "%s belong to no checkpoint that the agent knows: save in a known "+
				"layout, or with a manifest", plural(int64(e.StrayFiles), "file"))
		case g.KeepLast == 0:
			left = passed(0, "%s left: without keepLast the agent deletes none", plural(int64(n),
				"complete checkpoint"))
		case n > g.KeepLast+1:
			left = passed(0, "%d complete checkpoints left: keepLast is %d, and old ones stay for half a minute "+
				"after a save", n, g.KeepLast)
		default:
			left = passed(0, "%s left, keepLast is %d", plural(int64(n), "complete checkpoint"), g.KeepLast)
		}
	}
	if !counted {
		return notSeen("the complete checkpoints were not counted yet")
	}
	return left
}

// retainsWithin is how long in ms an attempt must train until the agent has deleted old checkpoints: it waits
// half a minute after a save.
const retainsWithin = 60_000

// newSaves is how many saves may be too new at the end of an attempt: those since the last attempt in which
// the agent deleted old ones.
func (g *play) newSaves(i int) (n int32) {
	for ; i >= 0; i-- {
		e := evidence(&g.attempts[i])
		n += e.Saves
		if e.FirstStep == nil || e.LastStep == nil {
			continue
		}
		if steps := *e.LastStep - *e.FirstStep; steps*e.StepMilliseconds >= retainsWithin {
			break
		}
	}
	return n
}

// savesUntil counts the saves of all attempts until one. A save that was cut off leaves a file, too.
func (g *play) savesUntil(i int) (n int32) {
	for j := range g.attempts[:i+1] {
		n += evidence(&g.attempts[j]).Saves
	}
	return n
}

// age returns milliseconds as a duration: 1.2s, 47s.
func age(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%dms", ms)
	case ms < 10_000:
		return fmt.Sprintf("%.1fs", float64(ms)/1000)
	}
	return fmt.Sprintf("%ds", (ms+500)/1000)
}

// size returns bytes as a number with a unit: 1.2 GB.
func size(n int64) string {
	const unit = 1000
	value, units := float64(n), []string{"B", "kB", "MB", "GB", "TB"}
	for i, u := range units {
		if value < unit || i == len(units)-1 {
			if i == 0 {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.1f %s", value, u)
		}
		value /= unit
	}
	return ""
}
