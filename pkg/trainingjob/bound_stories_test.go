package trainingjob

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
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
	"node-rejects-ranks": {jobtest.New(2), func(sim *simulation) {
		sim.converge()
		sim.bind()
		sim.converge()
		sim.log.Reset()
		sim.rejectPod("bert-worker-1", "OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu")
		sim.narrate("a device of node-1 is broken, its kubelet rejects a rank: none is placed there for a while")
		sim.logExcluded()
		sim.verdict = judged(scheduler.Go, "Unschedulable", "no other node is free")
		sim.advance(5 * time.Minute)
		sim.narrate("no other node is free")
		sim.advance(5 * time.Minute)
		sim.narrate("after ten minutes the node may have it again: ranks that keep off it are made anew")
		sim.logExcluded()
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"many-nodes-reject-ranks": {jobtest.New(6), func(sim *simulation) {
		sim.converge()
		for range 2 {
			sim.bind()
			sim.log.Reset()
			for i, name := range sim.rankNames() {
				if i > 0 {
					sim.rejectPod(name, "UnexpectedAdmissionError", "Allocate failed: no healthy devices present")
				}
				sim.updatePod(name, func(p *corev1.Pod) {
					p.Spec.NodeName += fmt.Sprint("-of-attempt-", sim.job.Status.Attempt)
				})
			}
			sim.narrate("five nodes reject ranks")
			sim.advanceToWake()
			sim.converge()
		}
		sim.logExcluded()
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

// rejectPod is the answer of a kubelet to a pod that it cannot take (pkg/kubelet, rejectPod).
func (sim *simulation) rejectPod(name, reason, message string) {
	sim.failPod(name, reason, "Pod was rejected: "+message)
}

// logExcluded logs the nodes that are excluded, and those that the next rank's pod keeps off.
func (sim *simulation) logExcluded() {
	var excluded, off []string
	if d := sim.job.Status.Disruptions; d != nil {
		for _, e := range d.ExcludedNodes {
			excluded = append(excluded, e.Name)
		}
	}
	for _, p := range sim.pods {
		if a := p.Spec.Affinity; p.Name == "bert-worker-0" && a != nil {
			required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			for _, r := range required.NodeSelectorTerms[0].MatchFields {
				off = append(off, r.Values...)
			}
		}
	}
	sim.logf("= excluded: %v; bert-worker-0 keeps off: %v", excluded, off)
}
