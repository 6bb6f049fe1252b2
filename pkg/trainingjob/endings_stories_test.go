package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Ranks that exit 0: because they are through, or because they were told to end. The jobs have no checkpoints
// where nothing else is said.
var endingStories = map[string]story{
	"preempted-ranks-exit-0": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.preempt(sim.rankNames()...)
		sim.advance(time.Second)
		sim.exit(0)
		sim.narrate("the whole gang is preempted, handles SIGTERM and exits 0: that is no success")
		sim.removeTerminating()
		sim.narrate("their kubelets have removed the pods")
		sim.bindAndStart()
		sim.narrate("all ranks run again")
	}},
	"evicted-leader-exits-0": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-master-0")
		sim.advance(time.Second)
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master's node is drained, and it exits 0 at SIGTERM: the job is not through")
	}},
	"evicted-worker-exits-0": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-worker-2")
		sim.advance(time.Second)
		sim.exit(0, "bert-worker-2")
		sim.narrate("one Worker exits 0 at SIGTERM: its peers would wait for it for ever")
	}},
	"worker-deleted-by-hand-exits-0": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("the user deletes bert-worker-1")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.advance(time.Second)
		sim.exit(0, "bert-worker-1")
		sim.narrate("it exits 0 at SIGTERM, and nothing marks it")
	}},
	"ranks-exit-0-while-the-operator-is-dead": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("(the operator dies)")
		sim.preempt(sim.rankNames()...)
		sim.exit(0)
		sim.departed = nil
		sim.advance(time.Minute)
		sim.narrate("(the operator is back) both ranks are marked, deleted and Succeeded")
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
		sim.narrate("the operator is slow: it sees them when their kubelets, of an older version, " +
			"have removed them, and the time of the first deletion is gone")
	}},
	"marked-by-the-kubelet-after-exit-0": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-1")
		sim.advance(10 * time.Second)
		sim.logf("the kubelet evicts bert-worker-1 under pressure: its mark comes with the end")
		sim.mark(corev1.PodReasonTerminationByKubelet, "The node was low on resource: memory. ", "bert-worker-1")
		sim.narrate("the time of a kubelet's mark says nothing of the order: that is no success")
	}},
	"through-before-its-pod-was-deleted": {jobtest.New(2), func(sim *simulation) {
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
		sim.narrate("both ranks were through: the kubelet reported it before it knew of the deletion")
	}},
	"marked-long-after-exit-0": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0)
		sim.advance(10 * time.Second)
		sim.mark("EvictionByEvictionAPI", "Eviction API: evicting", "bert-worker-0", "bert-worker-1")
		sim.narrate("the node is drained long after both ranks were through")
	}},
	"checkpoint-peer-says-completed": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(completed(), "bert-worker-1")
		sim.terminate(exited(0), "bert-worker-0")
		sim.narrate("a peer says that every step is trained, and rank 0 does not: rank 0 is believed")
	}},
	"rank-scope-evicted-rank-exits-0": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.evict("bert-worker-2")
		sim.exit(0, "bert-worker-2")
		sim.narrate("scope Rank, minAvailable 2: one of three exits 0 at SIGTERM")
		sim.removeTerminating()
		sim.narrate("its kubelet has removed it, and it is replaced")
	}},
	"leader-was-through-when-a-worker-crashed": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.exit(139, "bert-worker-0")
		sim.narrate("a Worker crashes, and that is all that is seen: the Master may be through, " +
			"so nobody is ended yet")
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master is: the crash was one of its teardown")
		sim.advance(5 * time.Second)
		sim.narrate("the other Worker is ended")
		sim.removeTerminating()
		sim.narrate("and gone")
	}},
	"leader-exits-0-when-it-is-ended": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.exit(139, "bert-worker-0")
		sim.narrate("a Worker crashes")
		sim.advance(5 * time.Second)
		sim.narrate("the Master goes on, so it is ended")
		sim.advance(time.Second)
		sim.exit(0, "bert-master-0", "bert-worker-1")
		sim.narrate("it exits 0 at SIGTERM: that is no success")
	}},
}

// mark pods as DisruptionTarget, now.
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

// evictForItself ends a rank as the kubelet does with a pod that breaks its own limits: it fails, and is
// neither marked nor deleted (pkg/kubelet/eviction, localStorageEviction).
func (sim *simulation) evictForItself(name, message string) {
	sim.exit(137, name)
	sim.failPod(name, "Evicted", message)
}

// failPod gives a pod the reason and the message of a kubelet that ended or rejected it.
func (sim *simulation) failPod(name, reason, message string) {
	sim.updatePod(name, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	})
	sim.logf("the kubelet of %s: %s: %s", name, reason, message)
}
