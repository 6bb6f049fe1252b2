package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// What users do to a job, and how it ends.
var lifecycleStories = map[string]story{
	"suspend-and-resume": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		setSuspend(sim, false)
		sim.narrate("and resumes it")
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"suspended-from-the-start": {jobtest.New(2), func(sim *simulation) {
		setSuspend(sim, true)
		sim.narrate("a suspended job is applied")
		setSuspend(sim, false)
		sim.narrate("and resumed")
	}},
	"resize": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.narrate("the job is scaled from 4 to 2")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.narrate("the old ranks are gone")
		sim.bindAndStart()
		sim.narrate("both ranks run")
	}},
	"resize-up": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.job.Spec.Replicas = new(int32(4))
		sim.job.Generation++
		sim.narrate("the job is scaled from 2 to 4: it has lost nobody")
		sim.bindAndStart()
		sim.narrate("all four run")
	}},
	"restart-by-annotation": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "1"}
		sim.narrate("the user asks for a restart")
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"deadline-and-ttl": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
		j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	}), func(sim *simulation) {
		sim.narrate("queued")
		sim.advance(2 * time.Hour)
		sim.narrate("the time in the queue does not count")
		sim.bindAndStart()
		sim.narrate("running")
		sim.advance(time.Hour)
		sim.narrate("the deadline")
		sim.advance(time.Minute)
		sim.narrate("the time to live is over")
	}},
	"deadline-passes-after-the-success": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
	}), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.exit(0)
		sim.advance(2 * time.Hour)
		sim.narrate("(the operator is back) what was trained in time is no failure")
	}},
	"deadline-counts-running-time": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(3600))
	}), func(sim *simulation) {
		runGang(sim)
		sim.advance(20 * time.Minute)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job after 20 minutes")
		sim.advance(2 * time.Hour)
		sim.narrate("suspended, it does not fail")
		setSuspend(sim, false)
		sim.converge()
		sim.bindAndStart()
		sim.narrate("it is resumed, and runs")
		sim.advance(30 * time.Minute)
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("and is preempted after 30 minutes more")
		sim.advance(2 * time.Hour)
		sim.narrate("queued, it does not fail")
		sim.bindAndStart()
		sim.narrate("it runs for the third time")
		sim.advanceToWake()
		sim.narrate("the deadline: 60 minutes in which it ran")
	}},
	"leader-decides": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master exits 0: the Workers need not")
	}},
	"finished-ranks-are-remembered": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("one rank is through")
		sim.removePod("bert-worker-0")
		sim.departed = nil
		sim.narrate("pod GC takes its pod: it is no loss")
		sim.exit(0)
		sim.narrate("the others end too")
	}},
}
