package rehearsal

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	second = time.Second
	minute = time.Minute
)

var endTime = new(metav1.Unix(1_800_000_000, 0))

// TestNothingSeenPassesNothing: without evidence every check is NotSeen, and the rehearsal is incomplete.
func TestNothingSeenPassesNothing(t *testing.T) {
	blind := each(func(a *attempt) {
		*a = attempt{Attempt: a.Attempt, Way: a.Way, ResumeStep: a.ResumeStep, Interrupted: true}
	})(sound())
	for name, attempts := range map[string][]attempt{"no attempts": nil, "interrupted attempts": blind} {
		all, result := Judge(policy, attempts, over)
		for _, c := range all {
			if c.Outcome != v1alpha1.RehearsalNotSeen || c.Message == "" {
				t.Errorf("%s: %s is %s: %q", name, c.Name, c.Outcome, c.Message)
			}
		}
		if result != resultIncomplete {
			t.Errorf("%s: %s", name, result)
		}
	}
}

// TestEvidenceRemovedIsNotSeen: each check that passes depends on what was seen.
func TestEvidenceRemovedIsNotSeen(t *testing.T) {
	none := each(func(a *attempt) {
		a.Evidence, a.SavedStep, a.SavedAfterSeconds, a.ExitCode, a.ResumeStep = nil, nil, nil, nil, nil
		a.EndStep = nil
	})(sound())
	all, result := Judge(policy, none, Ending{Over: true, Problem: "x"})
	for _, c := range all {
		if c.Outcome == v1alpha1.RehearsalPassed {
			t.Errorf("%s passed without evidence: %s", c.Name, c.Message)
		}
	}
	if result == resultPassed {
		t.Error("the rehearsal passed")
	}
}

// TestEndingsWithoutAPass: what was played and why it ended decide the result.
func TestEndingsWithoutAPass(t *testing.T) {
	cases := map[string]struct {
		attempts []attempt
		end      Ending
		want     result
		summary  string
	}{
		"completed early": {sound()[:2], Ending{Over: true, Problem: "the trainer completed all steps in " +
			"attempt 2"},
			resultIncomplete, "2 of 4 ways were played: the trainer completed all steps in attempt 2"},
		"an interrupted way": {edit(2, func(a *attempt) { a.Interrupted = true })(sound()), over, resultIncomplete,
			"3 of 4 ways are played"},
		"not all ways": {sound()[:3], over, resultIncomplete, "3 of 4 ways are played"},
		"failed by itself": {append(sound()[:1], attempt{Attempt: 2, ResumeStep: new(int64(40)),
			Failure: "bert-worker-0 exited with code 1", SavedStep: new(int64(40))}), over, resultFailed,
			"Resumes: attempt 2 was given step 40 and failed before its first step: bert-worker-0 exited with code 1"},
		"failed in the first attempt": {[]attempt{{Attempt: 1, Failure: "bert-worker-0 exited with code 2"}}, over,
			resultFailed, "Exit: attempt 1 failed by itself: bert-worker-0 exited with code 2"},
		"passed": {sound(), over, resultPassed, "the trainer resumes after Kill, Ask, Term and KillInSave (4 " +
			"ranks)"},
	}
	for name, c := range cases {
		all, got := Judge(policy, c.attempts, c.end)
		if s := Summary(policy, c.attempts, c.end, all, got); got != c.want || s != c.summary {
			t.Errorf("%s: %s, %q; want %s, %q", name, got, s, c.want, c.summary)
		}
	}
}

// TestDue: when the operator ends an attempt.
func TestDue(t *testing.T) {
	at := func(step int64) Running { return Running{Ran: minute, Total: minute, Step: &step} }
	first := []attempt{{Attempt: 1, SavedStep: new(int64(40)), Evidence: &v1alpha1.RehearsalEvidence{
		FirstStep: new(int64(1)), Saves: 2}}}
	ways := func(n int, edits ...func(*attempt)) []attempt {
		all := sound()[:n+1]
		a := attempt{Attempt: int32(n + 1), ResumeStep: all[n].ResumeStep, SavedStep: all[n].ResumeStep,
			Evidence: &v1alpha1.RehearsalEvidence{FirstStep: new(*all[n].ResumeStep + 1), StepMilliseconds: 500}}
		for _, e := range edits {
			e(&a)
		}
		all[n] = a
		return all
	}
	saves := func(n int32) []attempt {
		return []attempt{{Attempt: 1, SavedStep: new(int64(40)), Evidence: &v1alpha1.RehearsalEvidence{
			FirstStep: new(int64(1)), Saves: n}}}
	}
	evaluates := func(a *attempt) { a.Evidence.Evaluated = true }
	cases := map[string]struct {
		attempts []attempt
		now      Running
		want     bool
	}{
		"Kill, the overlap is not trained":        {first, at(59), false},
		"Kill, the overlap is trained":            {first, at(60), true},
		"Kill, one checkpoint":                    {saves(1), at(100), false},
		"Kill, it saves more often: half as many": {saves(3), at(50), true},
		"Kill, it saves all the time: one step":   {saves(60), at(41), true},
		"Kill, no steps, and early":               {first, Running{Ran: 59 * second}, false},
		"Kill, no steps":                          {first, Running{Ran: minute}, true},
		"Ask, steps as before":                    {ways(1), at(64), false},
		"Ask, five more":                          {ways(1), at(65), true},
		"Ask, and it evaluates elsewhere":         {ways(1, evaluates), at(65), false},
		"Ask, in an evaluation": {ways(1, evaluates, func(a *attempt) { a.Evidence.Phase = "Evaluating" }),
			at(65), true},
		"Ask, no evaluation for two minutes": {ways(1, evaluates), at(65 + 240), true},
		"Ask, the attempt's share is over":   {ways(1), Running{Ran: 12 * minute, Step: new(int64(46))}, true},
		"Ask, no steps":                      {ways(1), Running{Ran: 2 * minute}, true},
		"Term, five more":                    {ways(2), at(71), true},
		"Term, nothing saved":                {ways(2, func(a *attempt) { a.SavedStep = nil }), at(71), false},
		"the last, not the overlap":          {ways(4), at(92), false},
		"the last":                           {ways(4), at(93), true},
		"no attempt":                         {nil, at(5), false},
	}
	for name, c := range cases {
		if got := Due(policy, c.attempts, c.now); got != c.want {
			t.Errorf("%s: due %t, want %t", name, got, c.want)
		}
		if d := Wait(policy, c.attempts, c.now); d <= 0 {
			t.Errorf("%s: waits %s", name, d)
		}
	}
}

// TestWantsSave: the operator requests checkpoints only where the next way needs them.
func TestWantsSave(t *testing.T) {
	none := []attempt{{Attempt: 1, Evidence: &v1alpha1.RehearsalEvidence{FirstStep: new(int64(1))}}}
	one := []attempt{{Attempt: 1, SavedStep: new(int64(40)), Evidence: &v1alpha1.RehearsalEvidence{
		FirstStep: new(int64(1)), Saves: 1}}}
	onlyAsk, onlyTerm := policy, policy
	onlyAsk.Ways, onlyTerm.Ways = policy.Ways[1:2], policy.Ways[2:3]
	for name, c := range map[string]struct {
		p    Policy
		all  []attempt
		step int64
		want bool
	}{
		"Kill, at once":         {policy, none, 5, false},
		"Kill, the first":       {policy, none, 6, true},
		"Kill, soon after one":  {policy, one, 44, false},
		"Kill, the second":      {policy, one, 45, true},
		"Ask requests it alone": {onlyAsk, none, 100, false},
		"Term, none":            {onlyTerm, none, 6, true},
		"Term, one":             {onlyTerm, one, 100, false},
	} {
		if got := WantsSave(c.p, c.all, Running{Step: &c.step}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestSavesNothing: only an attempt that trains can save too late.
func TestSavesNothing(t *testing.T) {
	slow := []attempt{{Attempt: 1, Evidence: &v1alpha1.RehearsalEvidence{
		FirstStep: new(int64(1)), StartMilliseconds: 60_000,
	}}}
	saved := []attempt{{Attempt: 1, SavedStep: new(int64(40))}}
	for name, c := range map[string]struct {
		all  []attempt
		now  Running
		want bool
	}{
		"it starts":                    {[]attempt{{Attempt: 1}}, Running{Ran: 30 * minute}, false},
		"it trains, and has time left": {slow, Running{Ran: 11*minute - second, Step: new(int64(900))}, false},
		"it trains, and saves nothing": {slow, Running{Ran: 11 * minute, Step: new(int64(900))}, true},
		"the time of all is over":      {slow, Running{Ran: minute, Total: time.Hour, Step: new(int64(9))}, true},
		"it has saved":                 {saved, Running{Ran: time.Hour, Step: new(int64(900))}, false},
	} {
		if got := SavesNothing(policy, c.all, c.now); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestTornIsNotSeenWithoutACutOff: a save that was never met proves nothing.
func TestTornIsNotSeenWithoutACutOff(t *testing.T) {
	missed := edit(4, func(a *attempt) { a.Evidence.CutOffPath, a.Evidence.CutOffTries = "", 5 })(sound())
	all, _ := Judge(policy, missed, over)
	for _, c := range all {
		want := "no unfinished save was met in 5 tries"
		if c.Name == v1alpha1.CheckTorn && (c.Outcome != v1alpha1.RehearsalNotSeen || c.Message != want) {
			t.Errorf("%s: %s; want NotSeen: %s", c.Outcome, c.Message, want)
		}
	}
}

// TestInterruptedRequestFailsNothing: a trainer that did not get the request is not judged for its silence.
func TestInterruptedRequestFailsNothing(t *testing.T) {
	for _, n := range []int{2, 5} { // Ask, and the last attempt
		for interrupted, want := range map[bool]v1alpha1.RehearsalOutcome{
			false: v1alpha1.RehearsalFailed, true: v1alpha1.RehearsalPassed,
		} {
			all := edit(n, func(a *attempt) {
				a.SavedAfterSeconds, a.EndedAfterSeconds = nil, new(int64(41))
				a.Interrupted = interrupted
			})(sound())
			checks, _ := Judge(policy, all, over)
			i := slices.IndexFunc(checks, func(c v1alpha1.RehearsalCheck) bool {
				return c.Name == v1alpha1.CheckSavesInTime
			})
			if got := checks[i]; got.Outcome != want {
				t.Errorf("attempt %d, interrupted %t: %s: %s", n, interrupted, got.Outcome, got.Message)
			}
		}
	}
}

// TestExitUnknownIsNotSeen: the exit of one attempt proves nothing about another one, whose code is lost.
func TestExitUnknownIsNotSeen(t *testing.T) {
	lost := func(a *attempt) { a.ExitCode = nil }
	const message = "and its pod is deleted: neither the operator nor the next attempt's agent saw its exit code"
	for name, c := range map[string]struct {
		edits   []func(*attempt)
		outcome v1alpha1.RehearsalOutcome
		message string
	}{
		"lost": {[]func(*attempt){lost}, v1alpha1.RehearsalNotSeen, "attempt 3 saved in 3s, " + message},
		"lost, and the save too": {[]func(*attempt){lost, func(a *attempt) { a.SavedAfterSeconds = nil }},
			v1alpha1.RehearsalNotSeen, "attempt 3 saved, " + message},
		"it saved nothing": {[]func(*attempt){lost, func(a *attempt) {
			a.SavedAfterSeconds, a.SavedStep = nil, a.ResumeStep
		}}, v1alpha1.RehearsalPassed, "it exits with 0 after a save"},
		"another way": {[]func(*attempt){lost, func(a *attempt) { a.Way = v1alpha1.RehearsalKill }},
			v1alpha1.RehearsalPassed, "it exits with 0 after a save"},
		"the operator saw the code, not the save": {[]func(*attempt){func(a *attempt) {
			a.SavedAfterSeconds, a.ExitCode = nil, new(int32(137))
		}}, v1alpha1.RehearsalWarning,
			"it saved and then did not exit, so it was killed: exit with 0 after the save"},
	} {
		all := sound()
		for _, e := range c.edits {
			all = edit(3, e)(all)
		}
		checks, _ := Judge(policy, all, over)
		got := checks[len(checks)-1]
		if got.Name != v1alpha1.CheckExit || got.Outcome != c.outcome || got.Message != c.message {
			t.Errorf("%s: %s %s: %s", name, got.Name, got.Outcome, got.Message)
		}
	}
}

// TestQuickReadsAreNotSeen: the agent looks 50 times a second, so it misses quick reads.
func TestQuickReadsAreNotSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change  func([]attempt) []attempt
		outcome v1alpha1.RehearsalOutcome
		message string
	}{
		"in every attempt": {each(func(a *attempt) { a.Evidence.LoadedRanks = min(1, a.Evidence.LoadedRanks) }),
			v1alpha1.RehearsalNotSeen, "1 of 4 ranks were seen reading it: the others read it in an instant, or get " +
				"the state from them"},
		"in the last attempt": {edit(5, func(a *attempt) { a.Evidence.LoadedRanks = 1 }),
			v1alpha1.RehearsalPassed, "4 of 4 ranks"},
	} {
		checks, _ := Judge(policy, c.change(sound()), over)
		i := slices.IndexFunc(checks, func(c v1alpha1.RehearsalCheck) bool {
			return c.Name == v1alpha1.CheckLoaded
		})
		if checks[i].Outcome != c.outcome || checks[i].Message != c.message {
			t.Errorf("%s: %s: %s", name, checks[i].Outcome, checks[i].Message)
		}
	}
}

// TestRetentionWaitsForNewSaves: the agent deletes nothing for a save that is too new, so only checkpoints
// that are older than the saves since the last long attempt count. A save that was cut off leaves a file.
func TestRetentionWaitsForNewSaves(t *testing.T) {
	few := policy
	few.KeepLast = 3
	const passed, warns = v1alpha1.RehearsalPassed, v1alpha1.RehearsalWarning
	const tooMany = " complete checkpoints are left, keepLast is 3: set spec.checkpoint.keepLast, or delete " +
		"older ones"
	const isNew = " complete checkpoints left: keepLast is 3, and old ones stay for half a minute after a save"
	for name, c := range map[string]struct {
		left, stray int32
		long        bool // the fourth attempt
		outcome     v1alpha1.RehearsalOutcome
		message     string
	}{
		"few":                    {3, 0, false, passed, "3 complete checkpoints left, keepLast is 3"},
		"new ones":               {14, 0, false, passed, "14" + isNew},
		"too many":               {15, 0, false, warns, "15" + tooMany},
		"new ones since":         {8, 0, true, passed, "8" + isNew},
		"too many since":         {9, 0, true, warns, "9" + tooMany},
		"files of cut-off saves": {3, 10, false, passed, "3 complete checkpoints left, keepLast is 3"},
		"more files": {3, 11, false, warns, "11 files belong to no checkpoint that the agent knows: save in a " +
			"known layout, or with a manifest"},
	} {
		all := each(func(a *attempt) { a.Evidence.Saves = 2 })(sound())
		all = edit(5, func(a *attempt) { a.Evidence.CompleteLeft, a.Evidence.StrayFiles = &c.left, c.stray })(all)
		if c.long {
			all = edit(4, func(a *attempt) { a.Evidence.LastStep = new(*a.Evidence.FirstStep + 1000) })(all)
		}
		checks, _ := Judge(few, all, over)
		i := slices.IndexFunc(checks, func(c v1alpha1.RehearsalCheck) bool {
			return c.Name == v1alpha1.CheckRetention
		})
		if checks[i].Outcome != c.outcome || checks[i].Message != c.message {
			t.Errorf("%s: %s: %s", name, checks[i].Outcome, checks[i].Message)
		}
	}
}
