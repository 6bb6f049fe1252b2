package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// What keeps a job from being ended and started again for ever.
var boundStories = map[string]story{
	"evicted-for-its-own-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(1))
	}), func(sim *simulation) {
		runGang(sim)
		sim.evictForItself("bert-worker-1", `Container trainer exceeded its local ephemeral storage limit "1Gi". `)
		sim.narrate("a rank fills the disk that it may use: that is a failure of the job")
		sim.advance(10 * time.Second)
		sim.narrate("again")
		sim.bindAndStart()
		sim.narrate("all ranks run")
		sim.evictForItself("bert-worker-1", `Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". `)
		sim.narrate("and once more: backoffLimit is spent")
	}},
	"rank-scope-evicted-for-its-own-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.BackoffLimit = new(int32(0))
	}), func(sim *simulation) {
		runGang(sim)
		sim.evictForItself("bert-worker-1",
			"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ")
		sim.narrate("scope Rank: its pod would be replaced for ever")
	}},
	"evicted-under-pressure": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(0))
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(137, "bert-worker-1")
		message := "The node was low on resource: memory. "
		sim.mark(corev1.PodReasonTerminationByKubelet, message, "bert-worker-1")
		sim.failPod("bert-worker-1", "Evicted", message)
		sim.narrate("the node is short of memory: that is no failure of the job")
	}},
	"disrupted-without-progress": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		for _, wait := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
			sim.evict("bert-worker-1")
			sim.narrate("a rank is evicted: the gang waits %s", wait)
			sim.advance(wait)
			sim.bindAgain()
			sim.narrate("all ranks run again")
		}
		sim.advance(10 * time.Minute)
		sim.evict("bert-worker-1")
		sim.narrate("ten minutes are taken for progress where the trainer reports no step: no backoff")
	}},
	"checkpoint-disrupted-with-progress": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		for _, step := range []int64{300, 400} {
			s := sim.saveCheckpoint(step)
			sim.postReport(step, withCommit(s))
			sim.disruptAndReturn("after a new checkpoint the gang returns at once")
		}
		sim.postReport(401)
		sim.disruptAndReturn("and after a step that was not reached before")
		sim.postReport(401)
		sim.disruptAndReturn("but not after the same one")
	}},
	"preempted-without-progress": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		for range 3 {
			sim.preempt("bert-worker-1")
			sim.narrate("the scheduler preempts a rank: it knows when the gang may return, so there is no backoff")
			sim.bindAndStart()
			sim.converge()
		}
	}},
}

// disruptAndReturn ends the gang by the eviction of a peer, and lets it run again.
func (sim *simulation) disruptAndReturn(what string) {
	sim.advance(time.Minute)
	sim.converge()
	sim.evict("bert-worker-1")
	sim.terminate(exited(143), "bert-worker-0")
	sim.narrate("%s", what)
	sim.advanceToWake()
	sim.bindAgain()
	sim.converge()
}

// bindAgain lets the pods of the next attempt run, once they are there.
func (sim *simulation) bindAgain() {
	sim.converge()
	sim.bindAndStart()
	sim.converge()
}
