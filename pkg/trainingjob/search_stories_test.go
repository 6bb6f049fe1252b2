package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// What the operator does when rank 0 does not tell what it saved.
var searchStories = map[string]story{
	"checkpoint-node-lost-after-a-stale-report": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.loseAllPods()
		sim.narrate("the node dies before the checkpoint of step 300 is reported; the pods vanish")
		sim.logCheckpoints()
		sim.bind("bert-resolve")
		sim.finishSearch()
		sim.narrate("the search of the volume ends")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		runAgain(sim)
	}},
	"checkpoint-torn-newest": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		s := sim.saveCheckpoint(400)
		sim.postReport(405, withCommit(s))
		sim.narrate("step 400 was complete when it was reported")
		sim.tearNewest()
		sim.loseAllPods()
		sim.narrate("the node dies, and with it what was not synced")
		sim.finishSearch()
		sim.narrate("the search passes over step 400")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-operator-dead-meanwhile": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.logf("(the operator dies, and with it what was reported)")
		sim.saveCheckpoint(300)
		sim.preempt("bert-worker-0")
		sim.exit(1, "bert-worker-1")
		sim.departed, sim.report = nil, nil
		sim.narrate("(the operator is back) rank 0 is gone without a trace")
		sim.logf("(the operator dies, and is back)")
		sim.narrate("the search goes on")
		sim.finishSearch()
		sim.narrate("and ends")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		runAgain(sim)
	}},
	"checkpoint-search-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.loseAllPods()
		sim.narrate("the pods vanish")
		for range 3 {
			sim.failSearch("looking at /checkpoints: input/output error")
			sim.narrate("the volume cannot be read")
		}
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		runAgain(sim)
		sim.postReport(201)
		sim.saveCheckpoint(250)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.narrate("the next attempt saves step 250 and is heard, but what the first one saved is still not known")
		sim.finishSearch()
		sim.narrate("now the volume can be read: step 300 was there all the time")
		sim.logCheckpoints()
	}},
	"checkpoint-search-never-starts": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.loseAllPods()
		sim.narrate("the pods vanish")
		sim.advance(10*time.Minute - time.Second)
		sim.narrate("the volume is still attached to the dead node")
		sim.advance(time.Second)
		sim.narrate("nobody waits any longer")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-last-word-with-a-problem": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.tearNewest() // not whole yet when the agent looked for the last time
		message := exited(143)
		message.Problem = "last look: the volume did not answer in time"
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(message, "bert-worker-0", "bert-worker-1")
		sim.volume[len(sim.volume)-1].torn = false
		sim.narrate("the agent of rank 0 could not look for the last time: the volume is searched")
		sim.finishSearch()
		sim.narrate("and has more")
		sim.logCheckpoints()
	}},
	"checkpoint-lost": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		s := sim.saveCheckpoint(300)
		sim.postReport(300, withCommit(s))
		sim.converge()
		sim.terminate(exited(1), "bert-worker-0")
		sim.narrate("rank 0 fails")
		sim.advance(10 * time.Second)
		runAgain(sim)
		sim.tearNewest()
		sim.checkpointLost = true
		sim.loseAllPods()
		sim.narrate("a disk dies, and with it the checkpoint that the gang resumed from")
		sim.finishSearch()
		sim.narrate("the one before it is taken, and the job says so")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"checkpoint-cannot-be-loaded": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		s := sim.saveCheckpoint(300)
		sim.postReport(300, withCommit(s))
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.narrate("preempted; rank 0's last word names step 300")
		runAgain(sim)
		sim.tearNewest()
		sim.checkpointLost = true
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("no rank can load it: the volume is searched before it is tried again")
		sim.finishSearch()
		sim.narrate("it is torn since, and passed over")
		sim.logCheckpoints()
		sim.logWork()
	}},
	"checkpoint-on-an-object-store": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	}), func(sim *simulation) {
		runGang(sim)
		at := sim.now
		sim.postReport(205, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{
				State: checkpoint.SaveCommitted, Step: 200, CommittedAt: &at,
				URI: "s3://models/bert/bert-jobuid/attempt-1/step-200",
			}
		})
		sim.narrate("a commit is reported")
		sim.postReport(305, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{
				State: checkpoint.SaveCommitted, Step: 300, URI: "s3://models/other/step-300",
			}
		})
		sim.narrate("one elsewhere is not believed")
		sim.volume = nil
		sim.loseAllPods()
		sim.narrate("the pods vanish: nobody but the trainer can look there")
		sim.logCheckpoints()
	}},
}
