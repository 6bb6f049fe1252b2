package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Preemptions, evictions and lost nodes.
var disruptionStories = map[string]story{
	"loses-two-ranks-and-returns": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-1", "bert-worker-3")
		sim.narrate("two of four ranks are preempted, and the operator releases the other GPUs")
		sim.exit(1, "bert-worker-0")
		sim.narrate("a peer notices and exits 1")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "")
		sim.narrate("the grace period of the others ends")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("the scheduler admits the gang again")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
	}},
	"preempted-as-a-unit-by-its-scheduler": {jobtest.New(3), func(sim *simulation) {
		sim.backend = attemptBackend{}
		runGang(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-1")
		sim.narrate("the scheduler preempts the first of three ranks, and the operator leaves the others to it")
		sim.advance(time.Second)
		sim.preempt("bert-worker-2")
		sim.narrate("it preempts the second")
		sim.preempt("bert-worker-0")
		sim.narrate("it preempts the last")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.narrate("their grace period ends")
	}},
	"preempted-by-a-scheduler-that-stops-in-between": {jobtest.New(3), func(sim *simulation) {
		sim.backend = attemptBackend{}
		runGang(sim)
		sim.preempt("bert-worker-1")
		sim.narrate("the scheduler preempts the first of three ranks, and crashes")
		sim.advance(10 * time.Second)
		sim.narrate("ten seconds later the operator still leaves the others to it")
		sim.advance(600 * time.Millisecond)
		sim.narrate("after 200 ms more per rank the operator stops them")
	}},
	"preempted-while-starting": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		sim.narrate("the scheduler has bound all ranks")
		sim.preempt("bert-worker-0")
		sim.narrate("a rank is preempted before it runs")
	}},
	"preempted-while-the-operator-is-dead": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.exit(1, "bert-worker-0")
		sim.narrate("(the operator is back) two ranks were deleted unseen, " +
			"one has failed, one hangs in a collective")
		sim.bind()
		sim.logf("(the operator dies again)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.narrate("(the operator is back) the same happens before the gang runs, and a backoff follows")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
	}},
	"started-and-preempted-while-the-operator-is-dead": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.logf("(the operator dies)")
		sim.bindAndStart()
		sim.preempt("bert-worker-0")
		sim.departed = nil
		sim.exit(137, "bert-worker-1", "bert-worker-2")
		sim.narrate("(the operator is back) one rank was deleted unseen, its peers have failed, " +
			"and the operator has seen none run")
	}},
	"replaced-by-an-outdated-process": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.preempt("bert-worker-1")
		sim.departed = nil
		sim.createRank(spec.RankRef{Role: v1alpha1.RoleWorker, Index: 1})
		sim.narrate("one rank was deleted, and an outdated process created an unbound pod in its place")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"replaced-while-pending-then-deleted": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("the user deletes a rank without a node, and the operator recreates it")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
		sim.preempt("bert-worker-1")
		sim.narrate("the new rank is preempted")
	}},
	"all-ranks-vanish-while-the-operator-is-dead": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.preempt("bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.narrate("(the operator is back) no rank is left, without a known cause")
	}},
	"one-of-many-vanishes-above-the-minimum": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.preempt("bert-worker-3")
		sim.departed = nil
		sim.narrate("(the operator is back) scope Gang: " +
			"the loss of any rank ends the attempt, also above minAvailable")
	}},
	"evicted-by-its-scheduler": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		for range 2 {
			sim.verdict = judged(scheduler.Yield, "QueueStopped", "the queue is stopped")
			sim.narrate("the scheduler evicts the gang")
			for _, name := range sim.rankNames() {
				sim.removePod(name)
			}
			sim.verdict = judged(scheduler.Hold, "QueueStopped", "the queue is stopped")
			sim.narrate("the last pod is deleted, and the gang is queued without a backoff")
			sim.advance(5 * time.Second)
			sim.narrate("the status has the reason")
			sim.verdict = judged(scheduler.Go, "", "")
			sim.narrate("the queue is open again")
		}
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"a-dying-node-outranks-exit-codes": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("node-2 fails, and the API server does not have that yet")
		sim.exit(1, "bert-worker-0", "bert-worker-1")
		sim.narrate("the peers exit 1 first")
		sim.advance(40 * time.Second)
		sim.nodes["node-2"] = observation.NodeState{}
		sim.narrate("the node is NotReady, and the deletion of the third pod hangs")
		sim.removePod("bert-worker-2")
		sim.narrate("the admin deletes the node, and pod GC deletes the pod")
	}},
	"a-node-restarts": {jobtest.New(3, restartNever), func(sim *simulation) {
		runGang(sim)
		sim.restartNode("bert-worker-2")
		sim.exit(1, "bert-worker-0")
		sim.narrate("a peer notices and exits 1; restartPolicy Never and backoffLimit do not apply")
		runAgain(sim)
	}},
	"a-dead-node-holds-the-gang": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		loseNode2(sim)
		sim.advance(24 * time.Hour)
		sim.narrate("by default only the node or an admin ends the wait")
	}},
	"a-dead-node-with-forced-deletion": {jobtest.New(3), func(sim *simulation) {
		sim.lifecycle.ForceDelete = 5 * time.Minute
		runGang(sim)
		loseNode2(sim)
		sim.advance(5*time.Minute + 29*time.Second)
		sim.narrate("the pod had a grace period of 30 s, and the time limit is not reached")
		sim.advance(time.Second)
		sim.narrate("the operator deletes the pod by force, as the admin allows")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"a-pod-hangs-on-a-ready-node": {jobtest.New(3), func(sim *simulation) {
		sim.lifecycle.ForceDelete = 5 * time.Minute
		runGang(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0")
		sim.narrate("a rank is preempted")
		sim.removePod("bert-worker-0")
		sim.removePod("bert-worker-1")
		sim.advance(30*time.Second + 2*time.Minute - time.Second)
		sim.narrate("the pod on node-2 has had its grace period of 30 s, and its kubelet nearly two minutes more")
		sim.advanceToWake()
		sim.narrate("the pod hangs; the operator does not delete it by force, because its process still runs")
		sim.advance(24 * time.Hour)
		sim.narrate("the operator still waits")
		sim.updatePod("bert-worker-2", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/audit"} })
		sim.exit(137, "bert-worker-2")
		sim.narrate("the process has ended, and a finalizer keeps the pod")
		sim.advance(observation.StatusDelay)
		sim.narrate("the reason lasts")
		sim.removePod("bert-worker-2")
		sim.narrate("the pod is deleted")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"rank-scope-a-pod-hangs": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-2")
		sim.narrate("scope Rank, minAvailable 2: one of three ranks is preempted, the others continue")
		sim.advance(3 * time.Minute)
		sim.narrate("its pod hangs on a ready node")
		sim.removePod("bert-worker-2")
		sim.narrate("the pod is deleted, and the operator replaces it")
		sim.advance(observation.StatusDelay)
		sim.narrate("nothing hangs")
	}},
	"a-rank-that-had-succeeded-runs-again": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("one rank has succeeded")
		sim.preempt("bert-worker-2")
		sim.narrate("another is preempted, and the next attempt has all three ranks")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
	}},
	"rank-scope-replaces-singly": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}), func(sim *simulation) {
		runGang(sim)
		sim.preempt("bert-worker-3")
		sim.narrate("scope Rank, minAvailable 3: one of four ranks is preempted, the others continue")
		sim.preempt("bert-worker-0")
		sim.narrate("a second one is preempted; below minAvailable the gang restarts")
	}},
}

// loseNode2 fails the node of the last rank, and preempts another rank.
func loseNode2(sim *simulation) {
	sim.podsLinger = true
	sim.nodes["node-2"] = observation.NodeState{}
	sim.logf("node-2 fails")
	sim.preempt("bert-worker-0")
	sim.narrate("a rank is preempted")
	sim.removePod("bert-worker-0")
	sim.removePod("bert-worker-1")
	sim.narrate("the other pods are deleted, and the pod on node-2 is past its grace period")
}
