package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// setResumeFrom edits spec.checkpoint.resumeFrom.
func setResumeFrom(sim *simulation, point string) {
	sim.job.Spec.Checkpoint.ResumeFrom = point
	sim.job.Generation++
}

// failBeforeTheFirstStep ends the gang before it has trained a step, and lets the search that follows end.
func failBeforeTheFirstStep(sim *simulation, what string) {
	sim.podsLinger = true
	sim.terminate(checkpoint.Termination{
		Reason: checkpoint.ExitExited, ExitCode: 1, Phase: checkpoint.PhaseStarting,
	}, "bert-worker-0", "bert-worker-1")
	sim.narrate("%s", what)
	sim.finishSearch()
	sim.narrate("the search ends")
	sim.logCheckpoints()
	sim.advance(6 * time.Minute)
}

// trainTo300 preempts a job that has saved steps 100, 200 and 300, and lets it run again from step 300.
func trainTo300(sim *simulation) {
	runGang(sim)
	sim.saveCheckpoint(100)
	sim.saveCheckpoint(200)
	s := sim.saveCheckpoint(300)
	sim.postReport(300, withCommit(s))
	sim.podsLinger = true
	sim.preempt("bert-worker-0", "bert-worker-1")
	sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
	sim.narrate("preempted")
	sim.log.Reset()
	runAgain(sim)
}

// suspendWhole suspends a job whose ranks obey.
func suspendWhole(sim *simulation) {
	sim.podsLinger = true
	setSuspend(sim, true)
	sim.converge()
	sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
	sim.podsLinger = false
	sim.removeTerminating()
	sim.narrate("the job is suspended")
}

// What the operator does with a resume point that cannot be loaded, and with one that the user chooses.
var resumePointStories = map[string]story{
	"resume-point-is-passed-over": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		failBeforeTheFirstStep(sim, "no rank can load step 300, although it looks whole")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second time: an older one is looked for")
		runAgain(sim)
		s := sim.saveCheckpoint(210)
		sim.postReport(210, withCommit(s))
		sim.narrate("attempt 4 continues from step 200 and saves step 210")
		sim.saveCheckpoint(220)
		sim.loseAllPods()
		sim.narrate("the node dies")
		sim.finishSearch()
		sim.narrate("step 220 is found: step 300 of attempt 1 no longer counts")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"resume-point-has-no-older-one": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		sim.volume = sim.volume[2:]
		failBeforeTheFirstStep(sim, "no rank can load step 300")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second time")
		runAgain(sim)
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("and a third time")
		sim.finishSearch()
		sim.narrate("there is nothing else")
	}},
	"resume-point-survives-other-failures": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		failBeforeTheFirstStep(sim, "the attempt fails before its first step")
		runAgain(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.narrate("the next one is preempted before its first step: that is no failure")
		sim.logCheckpoints()
		runAgain(sim)
		sim.postReport(305)
		sim.converge()
		sim.podsLinger = true
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("the third one trains, and fails: the count begins again")
		sim.logCheckpoints()
	}},
	"resume-point-is-cleared-by-a-disruption": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		failBeforeTheFirstStep(sim, "the attempt fails before its first step")
		runAgain(sim)
		sim.podsLinger = true
		sim.terminate(checkpoint.Termination{
			Reason: checkpoint.ExitExited, ExitCode: 1, Phase: checkpoint.PhaseStarting,
		}, "bert-worker-0", "bert-worker-1")
		sim.narrate("a second time: an older checkpoint is looked for")
		sim.mark("DeletionByTaintManager", "the node is not ready", "bert-worker-1")
		sim.finishSearch()
		sim.narrate("the search ends, and the operator sees that the node of rank 1 failed: the resume point stays")
		sim.logCheckpoints()
	}},
	"resume-point-passed-over-and-progress": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		runGang(sim)
		sim.saveCheckpoint(200)
		s := sim.saveCheckpoint(300)
		sim.postReport(350, withCommit(s))
		sim.loseAllPods()
		sim.converge()
		sim.finishSearch()
		sim.narrate("the node dies at step 350")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "no rank can load step 300")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second time")
		runAgain(sim)
		sim.log.Reset()
		sim.postReport(250)
		sim.converge()
		sim.loseAllPods()
		sim.converge()
		sim.finishSearch()
		sim.narrate("the node dies at step 250: that is progress since step 200, so no backoff follows")
	}},
	"resume-from-a-step": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendWhole(sim)
		setResumeFrom(sim, "200")
		sim.narrate("the user chooses step 200")
		setSuspend(sim, false)
		sim.narrate("and resumes the job: the volume is searched for it")
		sim.finishSearch()
		sim.narrate("it is whole")
		runAgain(sim)
		s := sim.saveCheckpoint(250)
		sim.postReport(250, withCommit(s))
		sim.narrate("training goes on from there")
		sim.loseAllPods()
		sim.narrate("the node dies")
		sim.finishSearch()
		sim.narrate("the next attempt resumes from what was saved since, and not from step 200 or 300")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"resume-from-what-is-torn": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendWhole(sim)
		sim.volume[1].torn = true
		setResumeFrom(sim, "200")
		setSuspend(sim, false)
		sim.narrate("the user chooses step 200")
		sim.finishSearch()
		sim.narrate("it is torn: nothing starts")
		sim.advance(10 * time.Second)
		sim.converge()
		sim.logCheckpoints()
		setResumeFrom(sim, "150")
		sim.narrate("the user chooses step 150, which there is not")
		sim.finishSearch()
		sim.narrate("the search ends")
		sim.advance(10 * time.Second)
		sim.converge()
		setResumeFrom(sim, "pvc://bert-checkpoints/attempt-1/step-100")
		sim.narrate("the user chooses step 100 by its URI")
		sim.finishSearch()
		sim.narrate("the search ends")
		runAgain(sim)
	}},
	"resume-from-while-queued": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.podsLinger = false
		sim.removeTerminating()
		sim.narrate("preempted")
		setResumeFrom(sim, "100")
		sim.narrate("while the gang waits, the user chooses step 100")
		sim.finishSearch()
		sim.narrate("the search ends")
		runAgain(sim)
		suspendWhole(sim)
		setSuspend(sim, false)
		sim.narrate("and resumed: the choice was carried out, so nothing is searched")
		sim.logCheckpoints()
	}},
	"resume-from-search-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendWhole(sim)
		setResumeFrom(sim, "200")
		setSuspend(sim, false)
		sim.narrate("the user chooses step 200")
		for range 3 {
			sim.failSearch("looking at /checkpoints: input/output error")
			sim.converge()
		}
		sim.narrate("the volume cannot be read: nothing starts from another point")
		sim.logCheckpoints()
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		setSuspend(sim, false)
		sim.narrate("and resumes it")
		sim.finishSearch()
		sim.narrate("now the volume can be read")
		runAgain(sim)
	}},
	"rank-resumes-inside-its-attempt": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
	}), func(sim *simulation) {
		runGang(sim)
		start := func(id string) func(*checkpoint.Report) {
			return func(r *checkpoint.Report) { r.Start = id }
		}
		s := sim.saveCheckpoint(200)
		sim.postReport(205, start("one"), withCommit(s))
		sim.narrate("rank 0 saves step 200")
		sim.advance(30 * time.Second)
		sim.postReport(250)
		sim.narrate("and trains on")
		sim.preempt("bert-worker-0")
		sim.removeTerminating()
		sim.narrate("its node is drained: its successor is given step 200")
		sim.bindAndStart("bert-worker-0")
		first := int64(201)
		sim.postReport(202, start("two"), func(r *checkpoint.Report) { r.FirstStep = &first })
		sim.narrate("and trains from there: 50 steps again")
		sim.logCheckpoints()
		sim.logWork()
		first = 0
		sim.postReport(3, start("three"), func(r *checkpoint.Report) { r.FirstStep = &first })
		sim.narrate("its container starts again, and ignores its resume point")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"rank-cannot-ask-without-reports": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	}), func(sim *simulation) {
		sim.agent.ReportURL = ""
		sim.narrate("there is no report server")
		for _, c := range sim.job.Status.Conditions {
			if c.Type == v1alpha1.ConditionResumeNeedsReports {
				sim.logf("= %s %s: %s", c.Type, c.Status, c.Message)
			}
		}
	}},
	"resume-from-of-a-new-job": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint.ResumeFrom = "200"
	}), func(sim *simulation) {
		sim.narrate("a new job asks for a step")
	}},
	"resume-from-on-an-object-store": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	}), func(sim *simulation) {
		runGang(sim)
		sim.postReport(305, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{
				State: checkpoint.SaveCommitted, Step: 300,
				URI: "s3://models/bert/bert-jobuid/attempt-1/step-300",
			}
		})
		sim.converge()
		suspendWhole(sim)
		setResumeFrom(sim, "s3://models/other/step-200")
		setSuspend(sim, false)
		sim.narrate("the user chooses another job's checkpoint")
		setResumeFrom(sim, "s3://models/bert/bert-jobuid/attempt-1/step-200")
		sim.narrate("and then one of this job: only the trainer can see whether it is there")
		runAgain(sim)
	}},
}
