package trainingjob

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Losses from interruptions, in status.work.
var workStories = map[string]story{
	"checkpoint-lost-work": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.job.CreationTimestamp = metav1.NewTime(sim.now.Add(-time.Minute))
		trainTo250(sim)
		sim.logWork()
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("the gang is preempted 30 s and 50 steps after the last commit")
		sim.advance(10 * time.Second)
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
		sim.narrate("the grace period does not count as lost")
		sim.logWork()
		sim.advance(5 * time.Minute)
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go}
		sim.narrate("capacity is free again")
		runAgain(sim)
		sim.logWork()
		sim.advance(4 * time.Minute)
		sim.postReport(500)
		sim.narrate("the gang trains for 4 minutes without a checkpoint")
		sim.podsLinger = true
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		s := sim.saveCheckpoint(501)
		sim.postReport(501, withCommit(s), func(r *checkpoint.Report) { r.CommandID = "drain-2" })
		sim.advance(8 * time.Second)
		sim.narrate("the trainer saves first, and no work is lost")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.narrate("the ranks are deleted")
		sim.logWork()
		setSuspend(sim, false)
		sim.narrate("the user resumes the job")
		runAgain(sim)
		sim.advance(time.Minute)
		sim.terminate(completed(), "bert-worker-0", "bert-worker-1")
		sim.narrate("all ranks succeed")
		sim.logWork()
	}},
	"checkpoint-steps-lost-within-a-second": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		s := sim.saveCheckpoint(300)
		sim.postReport(303, withCommit(s))
		sim.narrate("3 steps beyond the last commit, in the same second")
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.narrate("the gang is preempted, and lost steps cost at least one second")
		sim.logWork()
	}},
	"work-without-checkpoints": {jobtest.New(2), func(sim *simulation) {
		sim.job.CreationTimestamp = metav1.NewTime(sim.now)
		runGang(sim)
		sim.advance(10 * time.Minute)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank fails after ten minutes")
		sim.logWork()
	}},
}
