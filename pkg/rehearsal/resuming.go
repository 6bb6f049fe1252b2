package rehearsal

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// The checks of how a trainer resumes.

const (
	// minCommonSteps that were trained twice make a comparison.
	minCommonSteps = 5
	// pollMilliseconds is how late the agent may see the first step: two polls of a status file.
	pollMilliseconds = 40
)

// slack returns how many steps a trainer can finish before the agent sees the first one.
func slack(e v1alpha1.RehearsalEvidence) int64 {
	step := max(1, e.StepMilliseconds)
	return (pollMilliseconds + step - 1) / step
}

// began reports whether an attempt that was given a checkpoint began, and whether it did at the right step.
func began(a *attempt) (rightly, known bool) {
	e := evidence(a)
	if a.ResumeStep == nil || e.FirstStep == nil {
		return false, false
	}
	return *e.FirstStep >= *a.ResumeStep && *e.FirstStep <= *a.ResumeStep+1+slack(e), true
}

func (g *play) resumes() verdict {
	seen := 0
	for i := range g.attempts {
		a := &g.attempts[i]
		rightly, known := began(a)
		_, torn := g.tornBy(i)
		switch {
		case torn: // which Torn reports
		case failedToStart(a) && !a.Interrupted:
			return failed(a.Attempt, "attempt %d was given step %d and failed before its first step: %s",
				a.Attempt, *a.ResumeStep, a.Failure)
		case known && !rightly:
			return g.wrongStart(i)
		case known:
			seen++
		}
	}
	if seen == 0 {
		return notSeen("no attempt has reported a first step after a resume")
	}
	return passed(0, "%s began at the step after the resume point", plural(int64(seen), "attempt"))
}

// wrongStart returns what is wrong with the first step of an attempt.
func (g *play) wrongStart(i int) verdict {
	a, e := &g.attempts[i], evidence(&g.attempts[i])
	given, at := *a.ResumeStep, *e.FirstStep
	if at > given {
		return failed(a.Attempt, "attempt %d was given step %d and began at step %d: %s skipped; report the step "+
			"that is finished, and continue with the next one", a.Attempt, given, at, were(at-given-1))
	}
	if at <= 1+slack(e) && !g.isOlder(i, at-1) {
		return failed(a.Attempt, "attempt %d was given step %d and began at step %d: load RESUME_FROM_CHECKPOINT",
			a.Attempt, given, at)
	}
	where := ""
	if g.isOlder(i, at-1) {
		where = fmt.Sprintf(", where the checkpoint of step %d ends", at-1)
	}
	return failed(a.Attempt, "attempt %d was given step %d and began at step %d%s: do not search for a "+
		"checkpoint, load RESUME_FROM_CHECKPOINT", a.Attempt, given, at, where)
}

func were(n int64) string {
	if n == 1 {
		return "1 step was"
	}
	return fmt.Sprintf("%d steps were", n)
}

// isOlder reports whether a checkpoint of a step, which is not the beginning, is known from earlier attempts
// or was read in this one.
func (g *play) isOlder(i int, step int64) bool {
	if step <= 0 {
		return false
	}
	if p := evidence(&g.attempts[i]).LoadedOther; p != "" && checkpoint.StepOf(p) == step {
		return true
	}
	for j := range g.attempts[:i] {
		for _, s := range []*int64{g.attempts[j].SavedStep, g.attempts[j].ResumeStep} {
			if s != nil && *s == step {
				return true
			}
		}
	}
	return false
}

func (g *play) loaded() verdict {
	seen := verdict{}
	for i := range g.attempts {
		a, e := &g.attempts[i], evidence(&g.attempts[i])
		if rightly, _ := began(a); !rightly || e.Ranks == 0 {
			continue
		}
		switch {
		case e.WeightsDiffer:
			return failed(a.Attempt, "the ranks of attempt %d report different weights after loading: load the same "+
				"checkpoint in every rank", a.Attempt)
		case e.LoadedRanks == 0 && e.LoadedOther != "":
			return failed(a.Attempt, "attempt %d was given step %d and read %s: load RESUME_FROM_CHECKPOINT",
				a.Attempt, *a.ResumeStep, e.LoadedOther)
		case e.LoadedRanks == 0:
		case e.LoadedRanks < e.Ranks:
			if seen.outcome != v1alpha1.RehearsalPassed {
				seen = notSeen("%d of %d ranks were seen reading it: the others read it in an instant, or get the "+
					"state from them", e.LoadedRanks, e.Ranks)
			}
		case e.Ranks < g.Ranks && seen.outcome == "":
			seen = notSeen("%d of %d ranks read it; the others were not seen", e.LoadedRanks, g.Ranks)
		case e.Ranks >= g.Ranks:
			seen = passed(0, "%d of %d ranks", e.LoadedRanks, g.Ranks)
		}
	}
	if seen.outcome == "" {
		return notSeen("no rank was seen reading the checkpoint")
	}
	return seen
}

func (g *play) continues() verdict {
	seen := verdict{}
	for i := range g.attempts {
		a, e := &g.attempts[i], evidence(&g.attempts[i])
		rightly, known := began(a)
		if known && !rightly || e.CommonSteps < minCommonSteps {
			continue
		}
		if e.DifferingBatches > 0 {
			if seen.outcome == "" {
				seen = notSeen("the steps were trained on other batches, so their losses cannot be compared")
			}
			continue
		}
		if v, differs := g.otherLosses(i); differs {
			return v
		}
		if e.DifferingSteps == 0 {
			seen = passed(a.Attempt, "%d of %d steps equal bit for bit", e.CommonSteps, e.CommonSteps)
		} else {
			seen = passed(a.Attempt, "at %d steps trained twice the loss differs by %s (median; %d%% is allowed)",
				e.CommonSteps, percent(e.LossBasisPoints), g.TolerancePercent)
		}
	}
	if seen.outcome == "" {
		return notSeen("fewer than %d steps were trained twice with a loss: write metrics.loss into the status",
			minCommonSteps)
	}
	return seen
}

// otherLosses reports whether the losses of an attempt differ too much from those before.
func (g *play) otherLosses(i int) (verdict, bool) {
	a, e := &g.attempts[i], evidence(&g.attempts[i])
	const remedy = "save and load the optimizer, the schedule and the random state too"
	switch d := e.DifferentLoss; {
	case g.Exact && e.DifferingSteps > 0 && d != nil:
		return failed(a.Attempt, "step %d had loss %s and has %s (%d of %d steps differ): %s", d.Step, d.Before,
			d.After, e.DifferingSteps, e.CommonSteps, remedy), true
	case g.Exact && e.DifferingSteps > 0:
		return failed(a.Attempt, "the losses of %d of %d steps differ: %s", e.DifferingSteps, e.CommonSteps,
			remedy), true
	case g.Exact || int64(e.LossBasisPoints) <= 100*g.TolerancePercent:
		return verdict{}, false
	}
	why := ": " + remedy
	if g.oneWriter(i) {
		why = "; only rank 0 wrote files: save every rank's shard"
	}
	return failed(a.Attempt, "at %d steps trained twice the loss differs by %s (median; %d%% is allowed)%s",
		e.CommonSteps, percent(e.LossBasisPoints), g.TolerancePercent, why), true
}

// oneWriter reports whether only one of several ranks wrote files in the attempts before.
func (g *play) oneWriter(i int) bool {
	most := int32(0)
	for j := range g.attempts[:i] {
		most = max(most, evidence(&g.attempts[j]).WritingRanks)
	}
	return most == 1 && g.Ranks > 1
}

func percent(basisPoints int32) string {
	if basisPoints%100 == 0 || basisPoints >= 1000 {
		return fmt.Sprintf("%d%%", (basisPoints+50)/100)
	}
	return fmt.Sprintf("%.1f%%", float64(basisPoints)/100)
}

func (g *play) data() verdict {
	common := int32(0)
	for i := range g.attempts {
		a, e := &g.attempts[i], evidence(&g.attempts[i])
		if rightly, known := began(a); known && !rightly {
			continue
		}
		d, from := e.DifferentBatch, ""
		if e.BatchOfStep != nil && d != nil {
			from = fmt.Sprintf("; step %d got the batch of step %d", d.Step, *e.BatchOfStep)
		}
		const remedy = "save and restore the position of the data loader"
		switch {
		case d != nil && e.DifferingBatches > 1:
			return failed(a.Attempt, "steps %d-%d were trained on other batches than before%s: %s", d.Step,
				d.Step+int64(e.DifferingBatches)-1, from, remedy)
		case d == nil && e.DifferingBatches > 0:
			return failed(a.Attempt, "%d of %d steps were trained on other batches than before: %s",
				e.DifferingBatches, e.CommonBatches, remedy)
		case d != nil:
			return failed(a.Attempt, "step %d was trained on another batch than before%s: %s", d.Step, from, remedy)
		}
		common = max(common, e.CommonBatches)
	}
	if common < minCommonSteps {
		return notSeen(`write "batch" into the status to have it checked`)
	}
	return passed(0, "%d of %d steps had the same batches", common, common)
}

// tornBy reports whether an attempt failed to start, or began at a wrong step, after a save of the attempt
// before was cut off, and returns that attempt. Nothing else has changed between the two.
func (g *play) tornBy(i int) (*attempt, bool) {
	if i == 0 {
		return nil, false
	}
	before := &g.attempts[i-1]
	cutOff := before.Way == v1alpha1.RehearsalKillInSave && !before.Interrupted
	mixed := evidence(before).CutOffComplete && g.beginsAstray(i)
	return before, cutOff && (mixed || failedToStart(&g.attempts[i]))
}

// beginsAstray reports whether an attempt is the first one that began at a wrong step.
func (g *play) beginsAstray(i int) bool {
	for j := range g.attempts[:i] {
		if rightly, known := began(&g.attempts[j]); known && !rightly {
			return false
		}
	}
	rightly, known := began(&g.attempts[i])
	return known && !rightly
}

func (g *play) torn() verdict {
	seen := verdict{}
	for i := range g.attempts {
		a, e := &g.attempts[i], evidence(&g.attempts[i])
		if a.Way != v1alpha1.RehearsalKillInSave || a.Interrupted || !g.ended(i) {
			continue
		}
		if _, torn := g.tornBy(min(i+1, len(g.attempts)-1)); torn {
			return g.failedToLoad(i)
		}
		if e.CutOffPath == "" {
			if seen.outcome == "" && e.CutOffTries > 0 {
				seen = notSeen("no unfinished save was met in %s", tries(e.CutOffTries))
			}
			continue
		}
		v := g.afterCutOff(i)
		if v.outcome == v1alpha1.RehearsalFailed {
			return v
		}
		seen = v
	}
	if seen.outcome == "" {
		return notSeen("no save was cut off yet")
	}
	return seen
}

func tries(n int32) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// failedToLoad is the verdict on a save that was cut off, after which the next attempt failed to start, or
// began at a wrong step.
func (g *play) failedToLoad(i int) verdict {
	next, e := &g.attempts[i+1], evidence(&g.attempts[i])
	if first := evidence(next).FirstStep; first != nil {
		return failed(next.Attempt, "the save that was cut off after %s looks complete, and attempt %d was given "+
			"step %d and began at step %d, with a mixture of two checkpoints: write to a temporary name in a "+
			"directory of its own, rename last", age(e.CutOffMilliseconds), next.Attempt, *next.ResumeStep, *first)
	}
	if e.CutOffComplete {
		return failed(next.Attempt, "the save that was cut off after %s looks complete, and attempt %d failed "+
			"to load it: write to a temporary name, rename last", age(e.CutOffMilliseconds), next.Attempt)
	}
	if saved := g.attempts[i].SavedStep; e.CutOffPath != "" && saved != nil && *saved == *next.ResumeStep &&
		e.Saves > 0 {
		return failed(next.Attempt, "after the cut-off save, attempt %d failed to load step %d: %s was "+
			"overwritten: give every step a directory", next.Attempt, *next.ResumeStep, e.CutOffPath)
	}
	return failed(next.Attempt, "after the cut-off save, attempt %d failed to load step %d: it was "+
		"overwritten, or looks complete: write to a temporary name in a directory of its own, rename last",
		next.Attempt, *next.ResumeStep)
}

// afterCutOff returns what became of a save that was cut off.
func (g *play) afterCutOff(i int) verdict {
	a, e := &g.attempts[i], evidence(&g.attempts[i])
	had := a.ResumeStep != nil || i > 0 && g.attempts[i-1].SavedStep != nil
	if had && e.CompleteLeft != nil && *e.CompleteLeft == 0 {
		return failed(a.Attempt, "after the cut-off save no complete checkpoint is left: %s was overwritten: "+
			"give every step a directory", e.CutOffPath)
	}
	if i+1 == len(g.attempts) {
		return notSeen("no attempt has resumed after the save that was cut off")
	}
	next := &g.attempts[i+1]
	rightly, known := began(a)
	lost := next.ResumeStep != nil && a.ResumeStep != nil && *next.ResumeStep <= *a.ResumeStep
	if e.Saves > 0 && lost && (rightly || !known) {
		return failed(a.Attempt, "after the cut-off save no complete checkpoint of attempt %d is left, and "+
			"attempt %d continues after step %d again: %s was overwritten: give every step a directory", a.Attempt,
			next.Attempt, *next.ResumeStep, e.CutOffPath)
	}
	cut := age(e.CutOffMilliseconds)
	rightly, _ = began(next)
	switch {
	case e.CutOffComplete:
		return warning(next.Attempt, "the save that was cut off after %s looks complete, and attempt %d was "+
			"given it: write to a temporary name, rename last", cut, next.Attempt)
	case rightly:
		return passed(next.Attempt, "attempt %d resumed from the checkpoint before the save that was cut off "+
			"after %s",
			next.Attempt, cut)
	}
	return notSeen("attempt %d has not reported its first step after the save that was cut off", next.Attempt)
}
