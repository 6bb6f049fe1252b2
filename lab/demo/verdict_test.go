package demo

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	claimCapacity  = "no more GPUs were bound than there are"
	claimWhole     = "no gang started in part"
	claimRunning   = "Running was reported for complete gangs only"
	claimWaited    = "second waited as a unit"
	claimWhy       = "second reported why it waited"
	claimPreempted = "urgent preempted second as a whole"
	claimStopped   = "second stopped reporting Running"
	claimApart     = "two attempts never ran together"
	claimResumed   = "second resumed from its latest complete checkpoint"
	claimCost      = "second reported what the preemption cost"
	claimCounters  = "a preemption is no failure"
	claimFinished  = "all jobs finished and gave their GPUs back"
)

func TestVerdictHolds(t *testing.T) {
	findings := Verdict(storyHistory(nil), false)
	for _, f := range findings {
		if !f.Held {
			t.Errorf("%s: %s", f.Claim, f.Detail)
		}
	}
	if !AllHeld(findings) {
		t.Error("the verdict is that it did not hold")
	}
}

func TestVerdictOfEmptyHistory(t *testing.T) {
	for _, f := range Verdict(History{}, false) {
		if f.Held {
			t.Errorf("%s: held in an empty history", f.Claim)
		}
	}
	if AllHeld(nil) {
		t.Error("no findings hold")
	}
}

// Watches of different kinds deliver in any order; sorting by revision restores the order of events.
func TestVerdictIgnoresOrderOfDelivery(t *testing.T) {
	want := Verdict(storyHistory(nil), false)
	for seed := range uint64(20) {
		h := storyHistory(nil)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(h.Records), func(i, j int) {
			h.Records[i], h.Records[j] = h.Records[j], h.Records[i]
		})
		h.sort()
		if diff := cmp.Diff(want, Verdict(h, false)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// Records arrive unsorted, so an older one must not overwrite a newer one.
func TestApplyIgnoresOlderRecords(t *testing.T) {
	h := storyHistory(nil)
	w := NewClusterState()
	for i := len(h.Records) - 1; i >= 0; i-- {
		w.Apply(h.Records[i])
	}
	if diff := cmp.Diff(h.end().Jobs, w.Jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(h.end().Pods, w.Pods); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// underQuota is the story on a scheduler that decides by quota: a waiting gang has no pods, and the scheduler
// preempts a gang as a unit instead of picking ranks.
func underQuota(ending func(*historyBuilder)) map[string]func(*historyBuilder) {
	waits := func(t *historyBuilder) {
		t.job(second, func(j *JobState) {
			j.Reason = v1alpha1.ReasonQuotaExceeded
			j.Message = "insufficient unused quota for nvidia.com/gpu, 16 more needed"
		})
	}
	return map[string]func(*historyBuilder){
		"second waits":             waits,
		"urgent comes":             func(t *historyBuilder) { t.job(urgent, func(*JobState) {}) },
		"the scheduler picks four": nil,
		"second drains": func(t *historyBuilder) {
			t.job(second, func(j *JobState) {
				j.Phase, j.Reason, j.Evicted = v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted, true
			})
			ending(t)
		},
		"second returns": func(t *historyBuilder) {
			t.job(second, func(j *JobState) { returns(j); j.Evicted = false })
		},
		"second waits again": waits,
	}
}

// A gang that saves while it drains loses nothing, and resumes from that checkpoint.
func TestVerdictOfGangThatSavesFirst(t *testing.T) {
	story := underQuota(func(t *historyBuilder) {
		t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 190, 1000}, saved(1, 190) })
		t.each(second, 1, 0, 6, succeeded)
	})
	story["second returns"] = func(t *historyBuilder) {
		t.job(second, func(j *JobState) {
			returns(j)
			j.Evicted, j.Work.LostSteps, j.Work.LostGPUSeconds = false, 0, 0
		})
	}
	story["second trains again"] = func(t *historyBuilder) {
		t.job(second, runsAgain)
		t.says(second, 2, 190)
		t.says(second, 2, 1000)
	}
	want := map[string]string{
		claimPreempted: "the scheduler preempted it as a unit, its 6 ranks saved step 190 and left",
		claimResumed:   "at step 190 of 1000; attempt 2 trained on from there, up to step 1000",
		claimCost:      "0 steps, 0 GPU-seconds; it ran again after 16 s",
	}
	for _, f := range Verdict(storyHistory(story), false) {
		if !f.Held {
			t.Errorf("%s: %s", f.Claim, f.Detail)
		}
		if detail, ok := want[f.Claim]; ok && f.Detail != detail {
			t.Errorf("%s: %q, want %q", f.Claim, f.Detail, detail)
		}
	}
	for _, f := range measure(storyHistory(story)) {
		if (attempt{f.Job, f.Attempt}) == victim() && !f.Preempted {
			t.Error("the figures do not show that it was preempted")
		}
	}
}

// A preempted gang that saves only its last step kept its GPUs too long.
func TestVerdictOfGangThatTrainsToItsEnd(t *testing.T) {
	story := underQuota(func(t *historyBuilder) {
		t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 1000, 1000}, saved(1, 1000) })
		t.each(second, 1, 0, 6, succeeded)
	})
	for _, f := range Verdict(storyHistory(story), false) {
		const want = "second-worker-0 kept its GPUs until it ended by itself"
		if f.Claim == claimPreempted && (f.Held || f.Detail != want) {
			t.Errorf("held %t: %q, want %q", f.Held, f.Detail, want)
		}
	}
}

func TestVerdictUnderQuota(t *testing.T) {
	tests := map[string]struct {
		reason string
		ending func(*historyBuilder)
		// preempted is a part of the detail of the claim about preemption; empty: it held.
		preempted string
	}{
		"as it should go": {"the operator ends all ranks", func(t *historyBuilder) {
			t.each(second, 1, 0, 6, terminates, gone)
		}, ""},
		"two ranks work on": {
			"quota counts gangs as units, but the GPUs of these ranks are still in use",
			func(t *historyBuilder) {
				t.each(second, 1, 0, 4, terminates, gone)
				t.each(second, 1, 4, 6, succeeded)
			},
			"second-worker-4 kept its GPUs until it ended by itself",
		},
		"the last ranks go after minutes": {
			"longer than any grace",
			func(t *historyBuilder) {
				t.each(second, 1, 0, 4, terminates, gone)
				t.time = t.time.Add(2 * time.Minute)
				t.each(second, 1, 4, 6, terminates, gone)
			},
			"it released its last GPU 121.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, f := range Verdict(storyHistory(underQuota(test.ending)), false) {
				switch {
				case f.Claim == claimPreempted && test.preempted != "":
					if f.Held || !strings.Contains(f.Detail, test.preempted) {
						t.Errorf("%s: held %t, detail %q lacks %q", test.reason, f.Held, f.Detail, test.preempted)
					}
				case !f.Held:
					t.Errorf("%s: %s", f.Claim, f.Detail)
				}
			}
		})
	}
}
