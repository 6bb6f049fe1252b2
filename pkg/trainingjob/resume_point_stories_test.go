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

// failBeforeTheFirstStep fails the gang before its first step, and ends the search that follows.
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

// trainTo300 preempts a job that has saved steps 100, 200 and 300, and runs it again from step 300.
func trainTo300(sim *simulation) {
	runGang(sim)
	sim.saveCheckpoint(100)
	sim.saveCheckpoint(200)
	s := sim.saveCheckpoint(300)
	sim.postReport(300, withCommit(s))
	sim.podsLinger = true
	sim.preempt("bert-worker-0", "bert-worker-1")
	sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
	sim.narrate("the gang is preempted")
	sim.log.Reset()
	runAgain(sim)
}

// suspendGang suspends a job, whose ranks exit 0.
func suspendGang(sim *simulation) {
	sim.podsLinger = true
	setSuspend(sim, true)
	sim.converge()
	sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
	sim.podsLinger = false
	sim.removeTerminating()
	sim.narrate("the job is suspended")
}

// Resume points that cannot be loaded, and resume points that the user chooses.
var resumePointStories = map[string]story{
	"resume-point-is-passed-over": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		failBeforeTheFirstStep(sim, "no rank can load step 300, although it is complete")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second failure, and the operator searches for an older checkpoint")
		runAgain(sim)
		s := sim.saveCheckpoint(210)
		sim.postReport(210, withCommit(s))
		sim.narrate("attempt 4 continues from step 200 and saves step 210")
		sim.saveCheckpoint(220)
		sim.loseAllPods()
		sim.narrate("the nodes fail")
		sim.finishSearch()
		sim.narrate("the search finds step 220, and step 300 of attempt 1 no longer counts")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"resume-point-has-no-older-one": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		sim.volume = sim.volume[2:]
		failBeforeTheFirstStep(sim, "no rank can load step 300")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second failure")
		runAgain(sim)
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("a third failure")
		sim.finishSearch()
		sim.narrate("there is no older checkpoint")
	}},
	"resume-point-survives-other-failures": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		failBeforeTheFirstStep(sim, "the attempt fails before its first step")
		runAgain(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.narrate("the next attempt is preempted before its first step, which is no failure")
		sim.logCheckpoints()
		runAgain(sim)
		sim.postReport(305)
		sim.converge()
		sim.podsLinger = true
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("the third attempt trains and fails, and the count starts again")
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
		sim.narrate("a second failure, and the operator searches for an older checkpoint")
		sim.mark("DeletionByTaintManager", "the node is not ready", "bert-worker-1")
		sim.finishSearch()
		sim.narrate("the search ends; the operator sees that the node of rank 1 failed, and keeps the resume point")
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
		sim.narrate("the nodes fail at step 350")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "no rank can load step 300")
		runAgain(sim)
		failBeforeTheFirstStep(sim, "a second failure")
		runAgain(sim)
		sim.log.Reset()
		sim.postReport(250)
		sim.converge()
		sim.loseAllPods()
		sim.converge()
		sim.finishSearch()
		sim.narrate("the nodes fail at step 250, which is progress since step 200, so no backoff follows")
	}},
	"resume-from-a-step": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendGang(sim)
		setResumeFrom(sim, "200")
		sim.narrate("the user chooses step 200")
		setSuspend(sim, false)
		sim.narrate("the user resumes the job, and the operator searches the volume")
		sim.finishSearch()
		sim.narrate("the checkpoint is complete")
		runAgain(sim)
		s := sim.saveCheckpoint(250)
		sim.postReport(250, withCommit(s))
		sim.narrate("the training continues from there")
		sim.loseAllPods()
		sim.narrate("the nodes fail")
		sim.finishSearch()
		sim.narrate("the next attempt resumes from the newer checkpoint, and not from step 200 or 300")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"resume-from-an-incomplete-checkpoint": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendGang(sim)
		sim.volume[1].torn = true
		setResumeFrom(sim, "200")
		setSuspend(sim, false)
		sim.narrate("the user chooses step 200")
		sim.finishSearch()
		sim.narrate("the checkpoint is incomplete, and the gang does not start")
		sim.advance(10 * time.Second)
		sim.converge()
		sim.logCheckpoints()
		setResumeFrom(sim, "150")
		sim.narrate("the user chooses step 150, which does not exist")
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
		sim.narrate("the gang is preempted")
		setResumeFrom(sim, "100")
		sim.narrate("while the gang waits, the user chooses step 100")
		sim.finishSearch()
		sim.narrate("the search ends")
		runAgain(sim)
		suspendGang(sim)
		setSuspend(sim, false)
		sim.narrate("the user resumes the job; the choice was applied before, so there is no search")
		sim.logCheckpoints()
	}},
	"resume-from-search-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo300(sim)
		suspendGang(sim)
		setResumeFrom(sim, "200")
		setSuspend(sim, false)
		sim.narrate("the user chooses step 200")
		for range 3 {
			sim.failSearch("looking at /checkpoints: input/output error")
			sim.converge()
		}
		sim.narrate("the volume cannot be read, and the gang starts from no other point")
		sim.logCheckpoints()
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		setSuspend(sim, false)
		sim.narrate("the user resumes the job")
		sim.finishSearch()
		sim.narrate("the volume can be read")
		runAgain(sim)
	}},
	"resume-from-refused-after-a-failed-search": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.loseAllPods()
		sim.converge()
		for range 3 {
			sim.failSearch("looking at /checkpoints: input/output error")
			sim.converge()
		}
		sim.narrate("the nodes fail, and the volume cannot be read")
		sim.logCheckpoints()
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.podsLinger = false
		sim.removeTerminating()
		setResumeFrom(sim, "150")
		setSuspend(sim, false)
		sim.narrate("the user chooses step 150, which does not exist")
		sim.finishSearch()
		sim.narrate("the search for step 150 ends, and step 300 is still unknown")
		sim.logCheckpoints()
		setResumeFrom(sim, "300")
		sim.narrate("the user chooses step 300")
		sim.finishSearch()
		sim.narrate("the search ends")
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
		sim.narrate("rank 0 continues training")
		sim.preempt("bert-worker-0")
		sim.removeTerminating()
		sim.narrate("its node is drained, and the new rank 0 gets step 200")
		sim.bindAndStart("bert-worker-0")
		first := int64(201)
		sim.postReport(202, start("two"), func(r *checkpoint.Report) { r.FirstStep = &first })
		sim.narrate("it repeats 50 steps from there")
		sim.logCheckpoints()
		sim.logWork()
		first = 0
		sim.postReport(3, start("three"), func(r *checkpoint.Report) { r.FirstStep = &first })
		sim.narrate("its container restarts, and ignores its resume point")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"rank-scope-without-reports": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
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
		sim.narrate("the user applies a job with resumeFrom")
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
		suspendGang(sim)
		setResumeFrom(sim, "s3://models/other/step-200")
		setSuspend(sim, false)
		sim.narrate("the user chooses a checkpoint of another job")
		setResumeFrom(sim, "s3://models/bert/bert-jobuid/attempt-1/step-200")
		sim.narrate("the user chooses one of this job; only the trainer can check that it exists")
		runAgain(sim)
	}},
}
