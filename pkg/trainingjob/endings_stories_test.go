package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Ranks that exit 0: because they completed, or because they were stopped. Jobs have no checkpoints unless
// the name of the story says so.
var endingStories = map[string]story{
	"preempted-ranks-exit-0": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.preempt(sim.rankNames()...)
		sim.advance(time.Second)
		sim.exit(0)
		sim.narrate("all ranks are preempted, and exit 0 on SIGTERM, which is no success")
		sim.removeTerminating()
		sim.narrate("the kubelets have removed the pods")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
	}},
	"evicted-leader-exits-0": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-master-0")
		sim.advance(time.Second)
		sim.exit(0, "bert-master-0")
		sim.narrate("the node of the Master is drained; it exits 0 on SIGTERM, and the job has not completed")
	}},
	"evicted-worker-exits-0": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-worker-2")
		sim.advance(time.Second)
		sim.exit(0, "bert-worker-2")
		sim.narrate("one Worker exits 0 on SIGTERM, and its peers cannot continue")
	}},
	"worker-deleted-by-hand-exits-0": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("the user deletes bert-worker-1")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.advance(time.Second)
		sim.exit(0, "bert-worker-1")
		sim.narrate("it exits 0 on SIGTERM, and its pod has no DisruptionTarget")
	}},
	"ranks-exit-0-while-the-operator-is-dead": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("(the operator dies)")
		sim.preempt(sim.rankNames()...)
		sim.exit(0)
		sim.departed = nil
		sim.advance(time.Minute)
		sim.narrate("(the operator is back) both ranks have DisruptionTarget, a deletion time and phase Succeeded")
	}},
	"removed-ranks-had-exited-0": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.oldKubelets = true
		sim.logf("the user deletes both pods")
		for _, name := range sim.rankNames() {
			sim.deletePod(sim.findPod(name))
		}
		sim.advance(time.Second)
		sim.exit(0)
		sim.advance(10 * time.Second)
		sim.removeTerminating()
		sim.narrate("the operator is slow: it sees the pods after their old kubelets removed them, " +
			"without the time of the first deletion")
	}},
	"marked-by-the-kubelet-after-exit-0": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-1")
		sim.advance(10 * time.Second)
		sim.logf("the kubelet evicts bert-worker-1 under pressure, and sets DisruptionTarget with the end")
		sim.mark(corev1.PodReasonTerminationByKubelet, "The node was low on resource: memory. ", "bert-worker-1")
		sim.narrate("a condition of the kubelet does not prove the order, so that is no success")
	}},
	"succeeded-before-its-pod-was-deleted": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0)
		sim.advance(time.Second)
		sim.podsLinger = true
		sim.logf("the user deletes bert-worker-0")
		sim.updatePod("bert-worker-0", func(p *corev1.Pod) {
			setDeletion(p, sim.now, 0)
			p.Generation++
		})
		sim.removePod("bert-worker-0")
		sim.narrate("both ranks had succeeded: the kubelet reported that before it observed the deletion")
	}},
	"marked-long-after-exit-0": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0)
		sim.advance(10 * time.Second)
		sim.mark("EvictionByEvictionAPI", "Eviction API: evicting", "bert-worker-0", "bert-worker-1")
		sim.narrate("the node is drained long after both ranks succeeded")
	}},
	"checkpoint-peer-reports-completion": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(completed(), "bert-worker-1")
		sim.terminate(exited(0), "bert-worker-0")
		sim.narrate("a peer reports the last step and rank 0 does not; only the report of rank 0 counts")
	}},
	"rank-scope-evicted-rank-exits-0": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-worker-2")
		sim.exit(0, "bert-worker-2")
		sim.narrate("scope Rank, minAvailable 2: one of three exits 0 on SIGTERM")
		sim.removeTerminating()
		sim.narrate("its kubelet has removed the pod, and the operator replaces it")
	}},
	"leader-succeeds-as-a-worker-crashes": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.exit(139, "bert-worker-0")
		sim.narrate("a Worker crashes; the Master may have succeeded, " +
			"so the operator stops no rank yet")
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master has succeeded, and the crash was part of the teardown")
		sim.advance(5 * time.Second)
		sim.narrate("the operator stops the other Worker")
		sim.removeTerminating()
		sim.narrate("its pod is deleted")
	}},
	"leader-exits-0-when-it-is-stopped": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.exit(139, "bert-worker-0")
		sim.narrate("a Worker crashes")
		sim.advance(5 * time.Second)
		sim.narrate("the Master continues, and the operator stops it")
		sim.advance(time.Second)
		sim.exit(0, "bert-master-0", "bert-worker-1")
		sim.narrate("it exits 0 on SIGTERM, which is no success")
	}},
}

// mark sets the condition DisruptionTarget of pods, now.
func (sim *simulation) mark(reason, message string, names ...string) {
	for _, name := range names {
		sim.updatePod(name, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message,
				LastTransitionTime: seconds(sim.now),
			})
		})
	}
}

// evict marks and deletes pods as a drain of their nodes does.
func (sim *simulation) evict(names ...string) {
	sim.mark("EvictionByEvictionAPI", "Eviction API: evicting", names...)
	for _, name := range names {
		sim.logf("the node of %s is drained", name)
		sim.deletePod(sim.findPod(name))
	}
}

// evictOverLimit fails a rank as the kubelet fails a pod that exceeds its own limits, without
// DisruptionTarget and without a deletion (pkg/kubelet/eviction, localStorageEviction).
func (sim *simulation) evictOverLimit(name, message string) {
	sim.endTrainer(name, terminated(sim.now, 137))
	sim.logf("%s: exit code 137", name)
	sim.failPod(name, "Evicted", message)
}

// failPod sets phase Failed, with the reason and the message of a kubelet.
func (sim *simulation) failPod(name, reason, message string) {
	sim.updatePod(name, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	})
	sim.logf("the kubelet of %s: %s: %s", name, reason, message)
}
