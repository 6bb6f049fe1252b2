package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Searches of the volume, after rank 0 ended without a final report.
var searchStories = map[string]story{
	"checkpoint-node-lost-after-a-stale-report": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.loseAllPods()
		sim.narrate("the nodes fail before the agent reports step 300, and the pods are deleted unseen")
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
		sim.narrate("the agent reports step 400 as complete")
		sim.tearNewest()
		sim.loseAllPods()
		sim.narrate("the nodes fail, and unsynced data is lost")
		sim.finishSearch()
		sim.narrate("the search passes over step 400")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-operator-dead-meanwhile": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.logf("(the operator dies, and its reports are lost)")
		sim.saveCheckpoint(300)
		sim.preempt("bert-worker-0")
		sim.exit(1, "bert-worker-1")
		sim.departed, sim.report = nil, nil
		sim.narrate("(the operator is back) rank 0 was deleted unseen")
		sim.logf("(the operator dies, and is back)")
		sim.narrate("the search continues")
		sim.finishSearch()
		sim.narrate("the search ends")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		runAgain(sim)
	}},
	"checkpoint-search-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.loseAllPods()
		sim.narrate("the pods are deleted unseen")
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
		sim.narrate("the next attempt reports step 250, but the checkpoints of the first are still unknown")
		sim.finishSearch()
		sim.narrate("the volume can be read, and has step 300")
		sim.logCheckpoints()
	}},
	"checkpoint-search-never-starts": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.loseAllPods()
		sim.narrate("the pods are deleted unseen")
		sim.advance(10*time.Minute - time.Second)
		sim.narrate("the volume is still attached to the failed node")
		sim.advance(time.Second)
		sim.narrate("the operator stops the search")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-final-report-with-a-problem": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.saveCheckpoint(300)
		sim.tearNewest() // incomplete when the agent made its final report
		message := exited(143)
		message.Problem = "last look: the volume did not answer in time"
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(message, "bert-worker-0", "bert-worker-1")
		sim.volume[len(sim.volume)-1].torn = false
		sim.narrate("the agent of rank 0 could not read the volume at the end, and the operator searches it")
		sim.finishSearch()
		sim.narrate("the search finds a newer checkpoint")
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
		sim.narrate("a disk fails, and the resume point of the gang is lost")
		sim.finishSearch()
		sim.narrate("the next attempt resumes from the checkpoint before, and the status reports the loss")
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
		sim.narrate("the gang is preempted; the final report of rank 0 names step 300")
		runAgain(sim)
		sim.tearNewest()
		sim.checkpointLost = true
		sim.terminate(exited(1), "bert-worker-0", "bert-worker-1")
		sim.narrate("no rank can load it, and the operator searches the volume before the next attempt")
		sim.finishSearch()
		sim.narrate("the checkpoint is incomplete now, and the search passes over it")
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
		sim.narrate("the agent reports a commit")
		sim.postReport(305, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{
				State: checkpoint.SaveCommitted, Step: 300, URI: "s3://models/other/step-300",
			}
		})
		sim.narrate("the operator ignores a commit at another URI")
		sim.volume = nil
		sim.loseAllPods()
		sim.narrate("the pods are deleted unseen; only the trainer can read the object store")
		sim.logCheckpoints()
	}},
}
