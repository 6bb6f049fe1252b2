package demo

import (
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Each case breaks the story in one way, and lists every claim that must fail, with a part of its detail.
func TestViolations(t *testing.T) {
	nothing := func(*historyBuilder) {}
	onNode0 := func(p *PodState) { p.Node = "node-0" }
	running := func(p *historyBuilder, job string) { p.phase(job, v1alpha1.PhaseRunning) }
	tests := map[string]struct {
		reason  string
		instead map[string]func(*historyBuilder)
		want    map[string]string
	}{
		"one node for all": {
			"a node has 8 GPUs, whatever the cluster has",
			map[string]func(*historyBuilder){"first starts": func(t *historyBuilder) {
				t.job(first, func(*JobState) {})
				t.each(first, 1, 0, 6, onNode0, runs)
				running(t, first)
			}},
			map[string]string{claimCapacity: "node-0 has 8 GPUs and 12 were bound when first-worker-2 came"},
		},
		"a waiting gang starts two ranks": {
			"gangs prevent this failure of others: 8 GPUs held for nothing",
			map[string]func(*historyBuilder){"second waits": func(t *historyBuilder) {
				t.job(second, func(*JobState) {})
				t.each(second, 1, 0, 6, created, judged)
				t.explains(second, "no capacity")
				t.each(second, 1, 0, 2, t.bind)
			}},
			map[string]string{
				claimWaited: "second-worker-0 was bound to node-3 when only 8 of the gang's 24 GPUs were free",
			},
		},
		"a gang starts in part and never wholly": {
			"a gang needs all six ranks",
			map[string]func(*historyBuilder){"second starts again": func(t *historyBuilder) {
				t.each(second, 2, 0, 5, t.bind, runs)
			}, "second ends": func(t *historyBuilder) {
				t.each(second, 2, 0, 5, succeeded)
				t.phase(second, v1alpha1.PhaseSucceeded)
			}},
			map[string]string{claimWhole: "second attempt 2 had only 5 of 6 ranks bound"},
		},
		"Running with five ranks": {
			"Running means that the gang runs (kubeflow#1617)",
			map[string]func(*historyBuilder){"first starts": func(t *historyBuilder) {
				t.job(first, func(*JobState) {})
				t.each(first, 1, 0, 6, t.bind)
				t.each(first, 1, 0, 5, runs)
				running(t, first)
				t.each(first, 1, 5, 6, runs)
			}},
			map[string]string{claimRunning: "first attempt 1 reported Running when 5 of 6 ranks ran"},
		},
		"never judged": {
			"a gang that no scheduler tried to place has not waited as a unit",
			map[string]func(*historyBuilder){"second waits": func(t *historyBuilder) {
				t.job(second, func(*JobState) {})
				t.each(second, 1, 0, 6, created)
			}},
			map[string]string{claimWaited: "not shown",
				claimWhy: "its status never had a reason for the lack of capacity"},
		},
		"nothing was free": {
			"any rank waits where none fits, gang or not",
			map[string]func(*historyBuilder){
				"nodes": func(t *historyBuilder) { t.nodes(3, 8) },
				// urgent then needs the GPUs of all six ranks.
				"the scheduler picks four": func(t *historyBuilder) { t.each(second, 1, 0, 6, picked, terminates, gone) },
				"second drains":            func(t *historyBuilder) { t.phase(second, v1alpha1.PhaseDraining) },
			},
			map[string]string{claimWaited: "not shown"},
		},
		"a wait without a reason": {
			"the status must explain why a job is pending",
			map[string]func(*historyBuilder){"second waits": func(t *historyBuilder) {
				t.job(second, func(*JobState) {})
				t.each(second, 1, 0, 6, created, judged)
			}},
			map[string]string{claimWhy: "its status never had a reason"},
		},
		"the others keep their GPUs forever": {
			"Kubeflow on Volcano: two of six ranks stay, and the job reports Running",
			map[string]func(*historyBuilder){
				"second drains": nil, "second returns": nil, "second waits again": nil,
				"second starts again": nil, "second trains again": nil, "second ends": nil,
			},
			map[string]string{
				claimResumed:   "not shown: attempt 2 reported no progress",
				claimCost:      "not shown: attempt 2 reported no progress",
				claimPreempted: "the scheduler did not pick (it picked 4 of 6) hold 8 GPUs at the end",
				claimStopped:   "urgent ran already, and second still reported Running",
				claimApart:     "not shown", claimCounters: "second ended with attempt 1, preemptions 0",
				claimFinished: `second ended as "Running"; second still holds 8 GPUs`,
			},
		},
		"the others keep their GPUs until they end by themselves": {
			"bounded, and still 8 GPUs for a gang that cannot run",
			map[string]func(*historyBuilder){
				"second drains": func(t *historyBuilder) {
					t.phase(second, v1alpha1.PhaseDraining)
					t.each(second, 1, 4, 6, succeeded)
				},
			},
			map[string]string{claimPreempted: "second-worker-4 kept its GPUs until it ended by itself"},
		},
		"the others save and keep their GPUs until they end by themselves": {
			"the operator has not asked them to save and exit",
			map[string]func(*historyBuilder){
				"second drains": func(t *historyBuilder) {
					t.phase(second, v1alpha1.PhaseDraining)
					t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 190, 1000}, saved(1, 190) })
					t.each(second, 1, 4, 6, succeeded)
				},
				"second trains again": func(t *historyBuilder) {
					t.job(second, runsAgain)
					t.says(second, 2, 190)
					t.says(second, 2, 1000)
				},
			},
			map[string]string{claimPreempted: "second-worker-4 kept its GPUs until it ended by itself"},
		},
		"the others keep their GPUs for minutes": {
			"longer than any grace",
			map[string]func(*historyBuilder){"second drains": func(t *historyBuilder) {
				t.phase(second, v1alpha1.PhaseDraining)
				t.time = t.time.Add(2 * time.Minute)
				t.each(second, 1, 4, 6, terminates, gone)
			}},
			map[string]string{claimPreempted: "it released its last GPU 121."},
		},
		"no rank was picked": {
			"a gang that its operator ends by itself was not preempted",
			map[string]func(*historyBuilder){"the scheduler picks four": func(t *historyBuilder) {
				t.each(second, 1, 0, 4, terminates, gone)
			}},
			map[string]string{claimPreempted: "not shown"},
		},
		"picked when it did not run whole": {
			"then there was nothing to preempt as a whole",
			map[string]func(*historyBuilder){"second starts": func(t *historyBuilder) {
				t.starts(second, 1)
				t.each(second, 1, 5, 6, gone)
			}, "second drains": func(t *historyBuilder) {
				t.phase(second, v1alpha1.PhaseDraining)
				t.each(second, 1, 4, 5, terminates, gone)
			}},
			map[string]string{claimPreempted: "not shown: only 5 of its 6 ranks"},
		},
		"the victim is first again": {
			"the preemptor must have what it preempted for",
			map[string]func(*historyBuilder){
				"urgent starts": nothing, "urgent ends": nothing,
				"second waits again": func(t *historyBuilder) { t.each(second, 2, 0, 6, created) },
				"second ends": func(t *historyBuilder) {
					t.ends(second, 2)
					t.starts(urgent, 1)
					t.ends(urgent, 1)
				},
			},
			map[string]string{claimPreempted: "not all ranks of urgent were bound before second was started again"},
		},
		"Running for two minutes after the loss": {
			"a status that is minutes late misleads",
			map[string]func(*historyBuilder){"second drains": func(t *historyBuilder) {
				t.each(second, 1, 4, 6, terminates, gone)
				t.time = t.time.Add(2 * time.Minute)
				t.phase(second, v1alpha1.PhaseDraining)
			}},
			map[string]string{claimStopped: "reported Running for 12"},
		},
		"two attempts meet": {
			"ranks of both attempts write to the same checkpoint",
			map[string]func(*historyBuilder){"the scheduler picks four": func(t *historyBuilder) {
				t.each(second, 1, 0, 4, picked, terminates, gone)
				t.pod(second, 2, 0, created)
			}},
			map[string]string{
				claimApart: "second-worker-0 of attempt 2 was created before second-worker-4 of attempt 1 had ended",
			},
		},
		"a preemption spends backoffLimit": {
			"volcano#2560, jobset#1117",
			map[string]func(*historyBuilder){"second ends": func(t *historyBuilder) {
				t.ends(second, 2)
				t.job(second, func(j *JobState) { j.Restarts = 1 })
			}},
			map[string]string{
				claimCounters: "second ended with attempt 2, preemptions 1, restarts 1; want 2, 1, 0",
			},
		},
		"the next attempt starts from step 0": {
			"all progress is lost",
			map[string]func(*historyBuilder){"second returns": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { returns(j); j.ResumeFrom = nil })
			}},
			map[string]string{claimResumed: "given no checkpoint although step 160 was saved",
				claimCost: "all progress is lost"},
		},
		"the next attempt is given an older checkpoint": {
			"the progress between the two is lost for nothing",
			map[string]func(*historyBuilder){"second returns": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { returns(j); j.ResumeFrom = saved(1, 120) })
			}},
			map[string]string{claimResumed: "step-120 (step 120), but the latest complete checkpoint is",
				claimCost: "32 lost steps, but it had trained step 180 and resumed at 120"},
		},
		"the next attempt is given another checkpoint of that step": {
			"the path identifies a checkpoint, not the step",
			map[string]func(*historyBuilder){"second returns": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { returns(j); j.ResumeFrom = saved(3, 160) })
			}},
			map[string]string{claimResumed: "attempt-3/step-160"},
		},
		"the resume point is ignored": {
			"the status names a resume point, and the trainer begins at step 0",
			map[string]func(*historyBuilder){"second trains again": func(t *historyBuilder) {
				t.job(second, runsAgain)
				t.says(second, 2, 0)
				t.says(second, 2, 1000)
			}},
			map[string]string{claimResumed: "attempt 2 began at step 0, though step 160 was saved"},
		},
		"the trainer goes back": {
			"steps that a checkpoint covers are trained again",
			map[string]func(*historyBuilder){"second trains again": func(t *historyBuilder) {
				t.job(second, runsAgain)
				t.says(second, 2, 160)
				t.says(second, 2, 20)
				t.says(second, 2, 1000)
			}},
			map[string]string{claimResumed: "attempt 2 went back to step 20, though step 160 was saved"},
		},
		"the training is not brought to its end": {
			"a job that has Succeeded has trained all its steps",
			map[string]func(*historyBuilder){"second trains again": func(t *historyBuilder) {
				t.job(second, runsAgain)
				t.says(second, 2, 500)
			}},
			map[string]string{claimResumed: "it ended at step 500 of 1000"},
		},
		"nothing was saved": {
			"then there was nothing to resume from",
			map[string]func(*historyBuilder){"second trains": func(t *historyBuilder) { t.says(second, 1, 40) }},
			map[string]string{claimResumed: "not shown: its first attempt committed no checkpoint",
				claimCost: "given no checkpoint"},
		},
		"all was saved": {
			"an attempt without steps left shows nothing about resuming",
			map[string]func(*historyBuilder){"second trains": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 1000, 1000}, saved(1, 1000) })
			}, "second trains again": func(t *historyBuilder) { t.job(second, runsAgain); t.says(second, 2, 1000) }},
			map[string]string{claimResumed: "not shown: its checkpoint at step 1000 of 1000",
				claimCost: "only 0 were left to train"},
		},
		"fewer lost steps are reported than were lost": {
			"180 steps were trained and the checkpoint is at 160",
			map[string]func(*historyBuilder){"second returns": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { returns(j); j.Work.LostSteps = 19 })
			}},
			map[string]string{claimCost: "19 lost steps, but it had trained step 180 and resumed at 160"},
		},
		"more lost steps are reported than were left": {
			"the training has 1000 steps",
			map[string]func(*historyBuilder){"second returns": func(t *historyBuilder) {
				t.job(second, func(j *JobState) { returns(j); j.Work.LostSteps = 841 })
			}},
			map[string]string{claimCost: "841 lost steps, but only 840 were left to train"},
		},
		"the resumption is not counted": {
			"the time to resume is then not counted",
			map[string]func(*historyBuilder){"second trains again": func(t *historyBuilder) {
				t.says(second, 2, 160)
				t.says(second, 2, 1000)
			}},
			map[string]string{claimCost: "1 interruptions and 0 resumptions"},
		},
		"a bystander is preempted too": {
			"only second is in the way",
			map[string]func(*historyBuilder){"urgent ends": func(t *historyBuilder) {
				t.job(urgent, func(j *JobState) { j.Preemptions, j.Attempt = 1, 2 })
				t.ends(urgent, 1)
			}},
			map[string]string{claimCounters: "urgent ended with attempt 2, preemptions 1", claimRunning: ""},
		},
		"a job fails": {
			"the story must end well to hold",
			map[string]func(*historyBuilder){"second ends": func(t *historyBuilder) {
				t.each(second, 2, 0, 6, succeeded)
				t.phase(second, v1alpha1.PhaseFailed)
			}},
			map[string]string{claimFinished: `second ended as "Failed"`},
		},
		"a finished job keeps a rank": {
			"a rank that stays holds quota forever",
			map[string]func(*historyBuilder){"second ends": func(t *historyBuilder) {
				t.each(second, 2, 0, 5, succeeded)
				t.phase(second, v1alpha1.PhaseSucceeded)
			}},
			map[string]string{claimFinished: "second still holds 4 GPUs"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			broken := map[string]string{}
			for _, f := range Verdict(storyHistory(test.instead), false) {
				if !f.Held {
					broken[f.Claim] = f.Detail
				}
			}
			for claim, part := range test.want {
				detail, ok := broken[claim]
				if !ok {
					t.Errorf("%s: held; %s", claim, test.reason)
				} else if !strings.Contains(detail, part) {
					t.Errorf("%s: detail %q lacks %q", claim, detail, part)
				}
				delete(broken, claim)
			}
			for claim, detail := range broken {
				t.Errorf("%s: failed as well: %s", claim, detail)
			}
		})
	}
}
