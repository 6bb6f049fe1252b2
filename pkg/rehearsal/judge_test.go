package rehearsal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// policy is that of a rehearsal of four ranks in all ways.
var policy = Policy{
	Ways: []v1alpha1.RehearsalWay{
		v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk, v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave,
	},
	OverlapSteps: 20, TolerancePercent: 5, Timeout: time.Hour, SaveLimit: 10 * time.Minute,
	GraceSeconds: 30, KeepLast: 3, Ranks: 4,
}

// sound returns the attempts of a trainer that saves and resumes.
func sound() []attempt {
	first := func(resume int64) *v1alpha1.RehearsalEvidence {
		e := &v1alpha1.RehearsalEvidence{
			FirstStep: new(resume + 1), StartMilliseconds: 38_000, StepMilliseconds: 500, Ranks: 4, WritingRanks: 4,
			SaveMilliseconds: 11_000, Saves: 2, CompleteLeft: new(int32(2)),
		}
		if resume > 0 {
			e.LoadedRanks, e.CommonSteps, e.CommonBatches = 4, 20, 20
		}
		return e
	}
	kill := attempt{
		Attempt: 1, Way: v1alpha1.RehearsalKill, EndStep: new(int64(60)), EndPhase: "Training",
		SavedStep: new(int64(40)), EndTime: nil, EndedAfterSeconds: new(int64(3)), ExitCode: new(int32(137)),
		Evidence: first(0),
	}
	ask := attempt{
		Attempt: 2, Way: v1alpha1.RehearsalAsk, ResumeStep: new(int64(40)), EndStep: new(int64(66)),
		EndPhase: "Training", SavedStep: new(int64(67)), SavedAfterSeconds: new(int64(11)),
		EndedAfterSeconds: new(int64(12)), ExitCode: new(int32(0)), Evidence: first(40),
	}
	term := attempt{
		Attempt: 3, Way: v1alpha1.RehearsalTerm, ResumeStep: new(int64(67)), EndStep: new(int64(72)),
		EndPhase: "Training", SavedStep: new(int64(73)), SavedAfterSeconds: new(int64(3)),
		EndedAfterSeconds: new(int64(4)), ExitCode: new(int32(0)), Evidence: first(67),
	}
	torn := attempt{
		Attempt: 4, Way: v1alpha1.RehearsalKillInSave, ResumeStep: new(int64(73)), EndStep: new(int64(78)),
		EndPhase: "Saving", SavedStep: new(int64(73)), EndedAfterSeconds: new(int64(4)), ExitCode: new(int32(137)),
		Evidence: first(73),
	}
	torn.Evidence.CutOffPath, torn.Evidence.CutOffMilliseconds = "/checkpoints/attempt-4/step-79", 1200
	torn.Evidence.CutOffTries, torn.Evidence.Saves = 1, 0
	last := attempt{
		Attempt: 5, ResumeStep: new(int64(73)), EndStep: new(int64(93)), EndPhase: "Training",
		SavedStep: new(int64(94)), SavedAfterSeconds: new(int64(10)), EndedAfterSeconds: new(int64(11)),
		ExitCode: new(int32(0)), Evidence: first(73),
	}
	last.EndTime = endTime
	ask.EndTime, term.EndTime = endTime, endTime
	return []attempt{kill, ask, term, torn, last}
}

// resumeAt makes an attempt begin at a step.
func resumeAt(n int, step int64) func([]attempt) []attempt {
	return func(all []attempt) []attempt { all[n-1].Evidence.FirstStep = &step; return all }
}

func edit(n int, change func(*attempt)) func([]attempt) []attempt {
	return func(all []attempt) []attempt { change(&all[n-1]); return all }
}

// each changes every attempt.
func each(change func(*attempt)) func([]attempt) []attempt {
	return func(all []attempt) []attempt {
		for i := range all {
			change(&all[i])
		}
		return all
	}
}

type result = v1alpha1.RehearsalResult

const (
	resultPassed     = v1alpha1.RehearsalResultPassed
	resultFailed     = v1alpha1.RehearsalResultFailed
	resultIncomplete = v1alpha1.RehearsalResultIncomplete
)

// trainerCase is what a trainer shows, and what the checks make of it.
type trainerCase struct {
	change func([]attempt) []attempt
	policy func(*Policy)
	end    Ending
	// failed and warned name the checks that fail or warn; no others do.
	failed, warned []v1alpha1.RehearsalCheckName
	// message is that of the first of them.
	message string
	result  result
}

var over = Ending{Over: true}

var brokenTrainers = map[string]trainerCase{
	"ignores the resume point": {
		change: each(func(a *attempt) {
			a.Evidence.FirstStep, a.Evidence.LoadedRanks = new(int64(1)), 0
			a.Evidence.LossBasisPoints, a.Evidence.DifferingSteps = 9000, 20 // they compare other steps
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckResumes},
		message: "attempt 2 was given step 40 and began at step 1: load " +
			"RESUME_FROM_CHECKPOINT", result: resultFailed,
	},
	"saves on rank 0 only": {
		change: each(func(a *attempt) {
			a.Evidence.WritingRanks, a.Evidence.LossBasisPoints = 1, 3100
			a.Evidence.DifferingSteps = a.Evidence.CommonSteps
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckContinues},
		message: "at 20 steps trained twice the loss differs by 31% (median; 5% is allowed); only rank 0 wrote " +
			"files: save every rank's shard", result: resultFailed,
	},
	"leaves torn saves": {
		change: func(all []attempt) []attempt {
			all[3].Evidence.CutOffComplete, all[3].SavedStep = true, new(int64(79))
			all[4] = attempt{Attempt: 5, ResumeStep: new(int64(79)), Failure: "bert-worker-0 exited with code 1",
				SavedStep: new(int64(79)), ExitCode: new(int32(1)), Evidence: &v1alpha1.RehearsalEvidence{Ranks: 4}}
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "the save that was cut off after 1.2s looks complete, and attempt 5 failed to load it: write " +
			"to a temporary name, rename last", result: resultFailed,
	},
	"loses its random state": {
		change: edit(2, func(a *attempt) {
			a.Evidence.DifferingBatches, a.Evidence.BatchOfStep = 20, new(int64(1))
			a.Evidence.DifferentBatch = &v1alpha1.RehearsalDifference{Step: 41, Before: "b41", After: "b1"}
			a.Evidence.LossBasisPoints, a.Evidence.DifferingSteps = 4000, 20
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckData},
		message: "steps 41-60 were trained on other batches than before; step 41 got the batch of step 1: save " +
			"and restore the position of the data loader", result: resultFailed,
	},
	"loses its random state, exact, without batches": {
		change: each(func(a *attempt) {
			a.Evidence.CommonBatches = 0
			if a.Attempt == 2 {
				a.Evidence.DifferingSteps, a.Evidence.LossBasisPoints = 20, 3
				a.Evidence.DifferentLoss = &v1alpha1.RehearsalDifference{Step: 41, Before: "2.1134", After: "2.1140"}
			}
		}), policy: func(p *Policy) { p.Exact = true }, end: over,
		failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckContinues},
		message: "step 41 had loss 2.1134 and has 2.1140 (20 of 20 steps differ): save and load the optimizer, " +
			"the schedule and the random state too", result: resultFailed,
	},
	"is deaf during evaluation": {
		change: edit(2, func(a *attempt) {
			a.EndPhase, a.SavedAfterSeconds = "Evaluating", new(int64(134))
			a.EndedAfterSeconds, a.ExitCode = new(int64(135)), new(int32(0))
		}), policy: func(p *Policy) { p.GraceSeconds = 120 }, end: over,
		failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckSavesInTime},
		message: "asked in Evaluating, it did not save within 130s and answered 4s after its end: read the " +
			"command file in that loop too", result: resultFailed,
	},
	"overwrites in place, and the next attempt cannot load it": {
		change: func(all []attempt) []attempt {
			all[3].Evidence.CutOffPath, all[3].Evidence.Saves = "/checkpoints/attempt-4/last", 1
			all[3].SavedStep = new(int64(79))
			all[4] = attempt{Attempt: 5, ResumeStep: new(int64(79)), Failure: "bert-worker-0 exited with code 1",
				SavedStep: new(int64(73)), ExitCode: new(int32(1))}
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "after the cut-off save, attempt 5 failed to load step 79: /checkpoints/attempt-4/last was " +
			"overwritten: give every step a directory", result: resultFailed,
	},
	"overwrites in place, and the next attempt is given what is left": {
		change: func(all []attempt) []attempt {
			all[3].Evidence.CutOffPath, all[3].SavedStep = "", nil // the last report was lost
			all[4] = attempt{Attempt: 5, ResumeStep: new(int64(79)), Failure: "bert-worker-0 exited with code 1",
				SavedStep: new(int64(73)), ExitCode: new(int32(1))}
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "after the cut-off save, attempt 5 failed to load step 79: it was overwritten, or looks " +
			"complete: write to a temporary name in a directory of its own, rename last", result: resultFailed,
	},
	"overwrites in place, in a directory of each attempt": {
		change: edit(4, func(a *attempt) {
			a.Evidence.CutOffPath, a.Evidence.Saves = "/checkpoints/attempt-4/last", 1
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "after the cut-off save no complete checkpoint of attempt 4 is left, and attempt 5 continues " +
			"after step 73 again: /checkpoints/attempt-4/last was overwritten: give every step a directory",
		result: resultFailed,
	},
	"overwrites in place": {
		change: func(all []attempt) []attempt {
			all[3].Evidence.CompleteLeft, all[3].SavedStep = new(int32(0)), nil
			all[3].Evidence.CutOffPath = "/checkpoints/last"
			all[4].ResumeStep, all[4].Evidence.FirstStep = nil, new(int64(1))
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "after the cut-off save no complete checkpoint is left: /checkpoints/last was overwritten: give " +
			"every step a directory", result: resultFailed,
	},
	"overwrites in place, and the mixture can be loaded": {
		change: func(all []attempt) []attempt {
			all[3].Evidence.CutOffComplete, all[3].Evidence.CutOffPath = true, "/checkpoints/attempt-4/last"
			all[4].Evidence.FirstStep = new(*all[4].ResumeStep + 20)
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckTorn},
		message: "the save that was cut off after 1.2s looks complete, and attempt 5 was given step 73 and began " +
			"at step 93, with a mixture of two checkpoints: write to a temporary name in a directory of its own, " +
			"rename last", result: resultFailed,
	},
	"saves outside CHECKPOINT_DIR": {
		change: func([]attempt) []attempt {
			return []attempt{{Attempt: 1, EndStep: new(int64(1200)), EndPhase: "Training",
				Evidence: &v1alpha1.RehearsalEvidence{FirstStep: new(int64(1)), StepMilliseconds: 500, Ranks: 4,
					OutsidePath: "/workspace/ckpt/last.pt", OutsideBytes: 1_200_000_000}}}
		}, end: Ending{Over: true, SavesNothing: true},
		failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckSaves},
		message: "nothing complete lies below it 600s after the first step; it wrote 1.2 GB to " +
			"/workspace/ckpt/last.pt: write below $CHECKPOINT_DIR", result: resultFailed,
	},
	"exits non-zero at SIGTERM": {
		change: edit(3, func(a *attempt) { a.ExitCode = new(int32(1)) }), end: over,
		warned: []v1alpha1.RehearsalCheckName{v1alpha1.CheckExit},
		message: "it saved in 3s and then exited with 1: a preemption forgives that, a drained rank seen late " +
			"counts as a failure; exit with 0", result: resultPassed,
	},
	"is ended by SIGTERM while it exits": {
		change: edit(3, func(a *attempt) { a.ExitCode = new(int32(143)) }), end: over,
		warned: []v1alpha1.RehearsalCheckName{v1alpha1.CheckExit},
		message: "it saved in 3s, and SIGTERM ended it while it exited (143): a preemption forgives that, a " +
			"drained rank seen late counts as a failure; ignore SIGTERM after the save", result: resultPassed,
	},
	"never reports": {
		change: each(func(a *attempt) {
			a.EndStep, a.EndPhase, a.SavedAfterSeconds, a.ExitCode = nil, "Starting", nil, nil
			a.Evidence.FirstStep, a.Evidence.CommonSteps, a.Evidence.CommonBatches = nil, 0, 0
			a.Evidence.StepMilliseconds, a.Evidence.StartMilliseconds = 0, 0
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckReports},
		message: "no status file: it cannot be asked to save, and is killed with its unsaved work: write the " +
			"step to $TRAININGJOB_STATUS_FILE", result: resultFailed,
	},
	"reports a wrong step after the resume": {
		change: resumeAt(2, 81), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckResumes},
		message: "attempt 2 was given step 40 and began at step 81: 40 steps were skipped; report the step that " +
			"is finished, and continue with the next one", result: resultFailed,
	},
	"reports another step than it saves": {
		change: edit(2, func(a *attempt) {
			a.EndStep, a.Evidence.FirstStep, a.Evidence.LastStep = new(int64(6600)), new(int64(4100)), new(int64(6700))
			a.SavedStep, a.SavedAfterSeconds = new(int64(67)), nil
		}), end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckResumes},
		message: "attempt 2 was given step 40 and began at step 4100: 4059 steps were skipped; report the step " +
			"that is finished, and continue with the next one", result: resultFailed,
	},
	"saves more slowly than its grace": {
		change: each(func(a *attempt) { a.Evidence.SaveMilliseconds = 47_000 }), end: over,
		failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckSavesInTime},
		message: "a save takes 47s, graceSeconds is 30: set graceSeconds: 71 (one and a half " +
			"times)", result: resultFailed,
	},
	"resumes an older one": {
		change: func(all []attempt) []attempt {
			all[2].Evidence.FirstStep = new(int64(41))
			return all
		}, end: over, failed: []v1alpha1.RehearsalCheckName{v1alpha1.CheckResumes},
		message: "attempt 3 was given step 67 and began at step 41, where the checkpoint of step 40 ends: do not " +
			"search for a checkpoint, load RESUME_FROM_CHECKPOINT", result: resultFailed,
	},
}

var soundTrainers = map[string]trainerCase{
	"saves, resumes and reports everything": {change: func(a []attempt) []attempt { return a }, end: over,
		result: resultPassed},
	"varies within the tolerance, without batches": {change: each(func(a *attempt) {
		a.Evidence.CommonBatches, a.Evidence.LossBasisPoints = 0, 130
		a.Evidence.DifferingSteps = a.Evidence.CommonSteps
	}), end: over, result: resultPassed},
	"is fast, and its saves cannot be met": {change: each(func(a *attempt) {
		a.Evidence.StepMilliseconds = 1
		if a.ResumeStep != nil {
			a.Evidence.FirstStep = new(*a.ResumeStep + 41)
		}
		a.Evidence.CutOffPath = ""
	}), end: over, result: resultPassed},
	"saves while the operator is away": {change: func(all []attempt) []attempt {
		for _, i := range []int{1, 2, 4} {
			all[i].SavedAfterSeconds, all[i].ExitCode = nil, nil
		}
		all[0].ExitCode = nil
		return all
	}, end: over, result: resultPassed},
	"is interrupted once, and the way is played again": {change: func(all []attempt) []attempt {
		again := all[1]
		again.Interrupted, again.SavedAfterSeconds, again.ExitCode = true, nil, new(int32(137))
		again.SavedStep = again.ResumeStep
		all = slices.Insert(all, 1, again)
		for i := range all {
			all[i].Attempt = int32(i + 1)
		}
		return all
	}, end: over, result: resultPassed},
}

func TestJudgeFindsExactlyTheFaultsOfTrainers(t *testing.T) {
	for _, table := range []map[string]trainerCase{brokenTrainers, soundTrainers} {
		for name, c := range table {
			t.Run(name, func(t *testing.T) { c.check(t) })
		}
	}
}

func (c trainerCase) check(t *testing.T) {
	p := policy
	if c.policy != nil {
		c.policy(&p)
	}
	attempts := c.change(sound())
	all, result := Judge(p, attempts, c.end)
	var failed, warned []v1alpha1.RehearsalCheckName
	message := ""
	for _, check := range all {
		switch check.Outcome {
		case v1alpha1.RehearsalFailed:
			failed = append(failed, check.Name)
		case v1alpha1.RehearsalWarning:
			warned = append(warned, check.Name)
		default:
			continue
		}
		if message == "" {
			message = check.Message
		}
	}
	if diff := cmp.Diff(c.failed, failed); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s\n%+v", diff, all)
	}
	if diff := cmp.Diff(c.warned, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if result != c.result || message != c.message {
		t.Errorf("%s: %q; want %s: %q", result, message, c.result, c.message)
	}
	if s := Summary(p, attempts, c.end, all, result); s == "" || strings.Contains(s, "%!") {
		t.Errorf("summary %q", s)
	}
	// The unfinished rehearsal never passes what it has not seen, and never has a result.
	for n := range attempts {
		if _, early := Judge(p, attempts[:n], Ending{}); early != "" {
			t.Errorf("result %s after %d attempts", early, n)
		}
	}
}
