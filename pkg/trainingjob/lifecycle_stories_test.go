package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Actions of users, and ends of jobs.
var lifecycleStories = map[string]story{
	"suspend-and-resume": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		setSuspend(sim, false)
		sim.narrate("the user resumes the job")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"suspended-from-the-start": {jobtest.New(2), func(sim *simulation) {
		setSuspend(sim, true)
		sim.narrate("the user applies a suspended job")
		setSuspend(sim, false)
		sim.narrate("the user resumes the job")
	}},
	"resize": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.narrate("the user scales the job from 4 to 2")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.narrate("the old ranks are deleted")
		sim.bindAndStart()
		sim.narrate("both ranks are running")
	}},
	"resize-after-some-succeeded": {
		jobtest.New(0, jobtest.RolesOf("pytorch", ranksOf{"Worker": 4})), func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.converge()
			workers := sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
			workers.Replicas = new(int32(2))
			sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = workers
			sim.job.Generation++
			sim.narrate("two of four Workers have succeeded, and the user scales the job to 2: two still train")
		},
	},
	"resize-up": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.job.Spec.Replicas = new(int32(4))
		sim.job.Generation++
		sim.narrate("the user scales the job from 2 to 4, and no rank was lost")
		sim.bindAndStart()
		sim.narrate("all four are running")
	}},
	"restart-by-annotation": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "1"}
		sim.narrate("the user requests a restart")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"deadline-and-ttl": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
		j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	}), func(sim *simulation) {
		sim.narrate("the job is queued")
		sim.advance(2 * time.Hour)
		sim.narrate("the time in the queue does not count")
		sim.bindAndStart()
		sim.narrate("the job is running")
		sim.advance(time.Hour)
		sim.narrate("the deadline passes")
		sim.advance(time.Minute)
		sim.narrate("the time to live ends")
	}},
	"deadline-passes-after-the-success": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
	}), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.exit(0)
		sim.advance(2 * time.Hour)
		sim.narrate("(the operator is back) the training completed before the deadline")
	}},
	"deadline-counts-running-time": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
	}), func(sim *simulation) {
		runGang(sim)
		sim.advance(20 * time.Minute)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job after 20 minutes")
		sim.advance(2 * time.Hour)
		sim.narrate("the suspended job does not fail")
		setSuspend(sim, false)
		sim.converge()
		sim.bindAndStart()
		sim.narrate("the user resumes the job, and it is running")
		sim.advance(30 * time.Minute)
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("the job is preempted after 30 more minutes")
		sim.advance(2 * time.Hour)
		sim.narrate("the queued job does not fail")
		sim.bindAndStart()
		sim.narrate("the job is running for the third time")
		sim.advanceToWake()
		sim.narrate("the deadline passes after 60 minutes of running time")
	}},
	"leader-decides": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master exits 0, and the Workers need not")
	}},
	"finished-ranks-are-remembered": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("one rank has succeeded")
		sim.removePod("bert-worker-0")
		sim.departed = nil
		sim.narrate("pod GC deletes its pod, which is no loss")
		sim.exit(0)
		sim.narrate("the others succeed too")
	}},
}
