package trainingjob

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Limits on the restarts of a job.
var boundStories = map[string]story{
	"evicted-for-its-own-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(1))
	}), func(sim *simulation) {
		runGang(sim)
		sim.evictOverLimit("bert-worker-1", `Container trainer exceeded its local ephemeral storage limit "1Gi". `)
		sim.narrate("a rank exceeds its own disk limit, which counts as a failure of the job")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
		sim.evictOverLimit("bert-worker-1", `Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". `)
		sim.narrate("a rank exceeds its limit a second time, and backoffLimit is spent")
	}},
	"rank-scope-evicted-for-its-own-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.BackoffLimit = new(int32(0))
	}), func(sim *simulation) {
		runGang(sim)
		sim.evictOverLimit("bert-worker-1",
			"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ")
		sim.narrate("scope Rank: replacing the pod would never end")
	}},
	"evicted-under-pressure": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(0))
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(137, "bert-worker-1")
		message := "The node was low on resource: memory. "
		sim.mark(corev1.PodReasonTerminationByKubelet, message, "bert-worker-1")
		sim.failPod("bert-worker-1", "Evicted", message)
		sim.narrate("the node is short of memory, which is no failure of the job")
	}},
	"disrupted-without-progress": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		for _, wait := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
			sim.evict("bert-worker-1")
			sim.narrate("a rank is evicted, and the gang waits %s", wait)
			sim.advance(wait)
			sim.bindAgain()
			sim.narrate("all ranks are running again")
		}
		sim.advance(10 * time.Minute)
		sim.evict("bert-worker-1")
		sim.narrate("the trainer reports no step, so ten minutes count as progress and no backoff follows")
	}},
	"checkpoint-disrupted-with-progress": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		for _, step := range []int64{300, 400} {
			s := sim.saveCheckpoint(step)
			sim.postReport(step, withCommit(s))
			sim.disruptAndReturn("after a new checkpoint the gang restarts at once")
		}
		sim.postReport(401)
		sim.disruptAndReturn("after a new highest step it restarts at once")
		sim.postReport(401)
		sim.disruptAndReturn("after the same step a backoff follows")
	}},
	"node-rejects-ranks": {jobtest.New(2), func(sim *simulation) {
		sim.converge()
		sim.bind()
		sim.converge()
		sim.log.Reset()
		sim.rejectPod("bert-worker-1", "OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu")
		sim.narrate("the kubelet of node-1 rejects a rank, and the operator excludes the node for a while")
		sim.logExcluded()
		sim.verdict = judged(scheduler.Go, "Unschedulable", "no other node is free")
		sim.advance(5 * time.Minute)
		sim.narrate("no other node is free")
		sim.advance(5 * time.Minute)
		sim.narrate("the exclusion ends after ten minutes, and the operator recreates the ranks without it")
		sim.logExcluded()
		sim.bindAndStart()
		sim.narrate("all ranks are running")
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
			sim.narrate("the scheduler preempts a rank; it decides when the gang returns, so no backoff follows")
			sim.bindAndStart()
			sim.converge()
		}
	}},
}

// disruptAndReturn evicts a peer, and runs the gang again.
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

// bindAgain runs the pods of the next attempt.
func (sim *simulation) bindAgain() {
	sim.converge()
	sim.bindAndStart()
	sim.converge()
}

// rejectPod rejects a pod as a kubelet does (pkg/kubelet, rejectPod).
func (sim *simulation) rejectPod(name, reason, message string) {
	sim.failPod(name, reason, "Pod was rejected: "+message)
}

// logExcluded logs the excluded nodes, and the nodes that the affinity of bert-worker-0 excludes.
func (sim *simulation) logExcluded() {
	var excluded, avoided []string
	if d := sim.job.Status.Disruptions; d != nil {
		for _, e := range d.ExcludedNodes {
			excluded = append(excluded, e.Name)
		}
	}
	for _, p := range sim.pods {
		if a := p.Spec.Affinity; p.Name == "bert-worker-0" && a != nil {
			required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			for _, r := range required.NodeSelectorTerms[0].MatchFields {
				avoided = append(avoided, r.Values...)
			}
		}
	}
	sim.logf("= excluded: %v; bert-worker-0 avoids: %v", excluded, avoided)
}
