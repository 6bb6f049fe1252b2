package demo

import (
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const claimSaved = "second saved before it yielded, and lost nothing"

// brokered is the story in which the operator preempts second; ending plays its end, lost is its loss in
// steps.
func brokered(lost int64, ending func(*historyBuilder)) map[string]func(*historyBuilder) {
	return map[string]func(*historyBuilder){
		"the scheduler picks four": nil,
		"second drains": func(t *historyBuilder) {
			t.job(second, func(j *JobState) {
				j.Phase, j.Reason, j.Evicted, j.Brokered = v1alpha1.PhaseDraining, v1alpha1.ReasonMakesRoom, true, true
			})
			ending(t)
		},
		"second returns": func(t *historyBuilder) {
			t.job(second, func(j *JobState) {
				returns(j)
				j.Evicted, j.Brokered, j.Work.LostSteps = false, false, lost
			})
		},
		"second trains again": func(t *historyBuilder) {
			t.job(second, runsAgain)
			t.says(second, 2, t.state.Jobs[second].ResumeFrom.Step)
			t.says(second, 2, 1000)
		},
	}
}

// saves has second save its progress and exit.
func saves(t *historyBuilder) {
	t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 190, 1000}, saved(1, 190) })
	t.each(second, 1, 0, 6, succeeded)
}

func TestVerdictOfBrokeredStory(t *testing.T) {
	found := 0
	for _, f := range Verdict(storyHistory(brokered(0, saves)), true) {
		if !f.Held {
			t.Errorf("%s: %s", f.Claim, f.Detail)
		}
		switch f.Claim {
		case claimPreempted:
			if !strings.HasPrefix(f.Detail, "the operator preempted it as a unit, its 6 ranks saved step 190") {
				t.Errorf("%q", f.Detail)
			}
		case claimSaved:
			found++
			if f.Detail != "its last checkpoint was step 160; on request it saved step 190, and it lost 0 steps" {
				t.Errorf("%q", f.Detail)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d findings for the claim that it saved, want 1", found)
	}
}

func TestSavedFirst(t *testing.T) {
	for name, test := range map[string]struct {
		instead map[string]func(*historyBuilder)
		want    string
	}{
		"the scheduler took ranks": {nil, "the operator did not preempt it"},
		"it was ended without a save": {
			brokered(20, func(t *historyBuilder) { t.each(second, 1, 0, 6, terminates, gone) }),
			"it saved nothing after the operator's request",
		},
		"it lost steps although it saved": {brokered(3, saves), "it lost 3 steps although it saved"},
	} {
		findings := Verdict(storyHistory(test.instead), true)
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.Claim == claimSaved })
		if i < 0 || findings[i].Held || findings[i].Detail != test.want {
			t.Errorf("%s: %+v, want %q", name, findings, test.want)
		}
	}
}

func TestPreemptionBy(t *testing.T) {
	for _, test := range []struct {
		scheduler string
		by        PreemptionBy
		brokered  bool
		problem   string
	}{
		{"volcano", "", true, ""},
		{"volcano", ByScheduler, false, ""},
		{"native", ByOperator, true, ""},
		{"kueue", "", false, ""},
		{"kueue", ByOperator, false, "works with volcano, native, coscheduling, not with kueue"},
		{"native", "unknown", true, "known are operator and scheduler"},
	} {
		o := Options{Scheduler: test.scheduler, Preemption: test.by}
		err := o.validatePreemption()
		if o.brokered() != test.brokered || (err != nil) != (test.problem != "") ||
			err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%+v: brokered %t, %v", test, o.brokered(), err)
		}
	}
}
