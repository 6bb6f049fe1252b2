package trainingjob

import (
	"time"

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
		sim.narrate("two of four ranks are preempted: the others must not keep their GPUs")
		sim.exit(1, "bert-worker-0")
		sim.narrate("a peer notices and exits 1")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "")
		sim.narrate("the grace of the others is over")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("the scheduler lets the gang in again")
		sim.bindAndStart()
		sim.narrate("all ranks run again")
	}},
	"preempted-whole-by-its-scheduler": {jobtest.New(3), func(sim *simulation) {
		sim.backend = attemptBackend{}
		runGang(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-1")
		sim.narrate("the scheduler ends the first rank of three: the others are left to it")
		sim.advance(time.Second)
		sim.preempt("bert-worker-2")
		sim.narrate("it ends the second")
		sim.preempt("bert-worker-0")
		sim.narrate("it ends the last")
		for _, n := range sim.rankNames() {
			sim.removePod(n)
		}
		sim.narrate("their grace is over")
	}},
	"preempted-by-a-scheduler-that-stops-in-between": {jobtest.New(3), func(sim *simulation) {
		sim.backend = attemptBackend{}
		runGang(sim)
		sim.preempt("bert-worker-1")
		sim.narrate("the scheduler ends the first rank of three, and dies")
		sim.advance(10 * time.Second)
		sim.narrate("ten seconds later they are still left to it")
		sim.advance(600 * time.Millisecond)
		sim.narrate("now, with a fifth of a second more for each rank, the operator ends them")
	}},
	"preempted-while-starting": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("applied")
		sim.bind()
		sim.narrate("placed")
		sim.preempt("bert-worker-0")
		sim.narrate("preempted before it ever ran")
	}},
	"preempted-while-the-operator-is-dead": {jobtest.New(4), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.exit(1, "bert-worker-0")
		sim.narrate("(the operator is back) two ranks are gone without a trace, " +
			"one has failed, one hangs in its collective")
		sim.bind()
		sim.logf("(the operator dies again)")
		sim.preempt("bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.narrate("(the operator is back) the same once more before the gang ran: now a backoff comes first")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff is over")
		sim.bindAndStart()
		sim.narrate("all ranks run again")
	}},
	"started-and-preempted-while-the-operator-is-dead": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("applied")
		sim.logf("(the operator dies)")
		sim.bindAndStart()
		sim.preempt("bert-worker-0")
		sim.departed = nil
		sim.exit(137, "bert-worker-1", "bert-worker-2")
		sim.narrate("(the operator is back) one is gone without a trace, its peers have failed, " +
			"and it has seen none run")
	}},
	"replaced-by-a-process-that-knew-less": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.preempt("bert-worker-1")
		sim.departed = nil
		sim.createRank(spec.RankRef{Role: v1alpha1.RoleWorker, Index: 1})
		sim.narrate("one rank is gone, and a pod that no scheduler places stands in for it")
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"replaced-while-pending-then-deleted": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("applied")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("somebody deletes a rank that has no node: it is made anew")
		sim.bindAndStart()
		sim.narrate("all ranks run")
		sim.preempt("bert-worker-1")
		sim.narrate("the second one is preempted")
	}},
	"all-ranks-vanish-while-the-operator-is-dead": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.preempt("bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.departed = nil
		sim.narrate("(the operator is back) no rank is left, and nothing says why")
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
			sim.narrate("the scheduler asks for the places back")
			for _, name := range sim.rankNames() {
				sim.removePod(name)
			}
			sim.verdict = judged(scheduler.Hold, "QueueStopped", "the queue is stopped")
			sim.narrate("the last pod is gone: the gang is queued again, without a backoff")
			sim.advance(5 * time.Second)
			sim.narrate("and says why it waits")
			sim.verdict = judged(scheduler.Go, "", "")
			sim.narrate("the queue is open again")
		}
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"a-dying-node-outranks-exit-codes": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("node-2 dies; nobody knows yet")
		sim.exit(1, "bert-worker-0", "bert-worker-1")
		sim.narrate("its peers exit 1 first")
		sim.advance(40 * time.Second)
		sim.nodes["node-2"] = observation.NodeState{}
		sim.narrate("the node is NotReady, the third pod's deletion hangs")
		sim.removePod("bert-worker-2")
		sim.narrate("somebody deletes the node, and pod GC the pod")
	}},
	"a-dead-node-holds-the-gang": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		loseNode2(sim)
		sim.advance(24 * time.Hour)
		sim.narrate("by default nothing but the node, or somebody who knows it to be off, ends the wait")
	}},
	"a-dead-node-is-given-up": {jobtest.New(3), func(sim *simulation) {
		sim.lifecycle.ForceDelete = 5 * time.Minute
		runGang(sim)
		loseNode2(sim)
		sim.advance(5*time.Minute + 29*time.Second)
		sim.narrate("not yet: its grace period was 30 s")
		sim.advance(time.Second)
		sim.narrate("the admin has allowed to give the pod up")
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"a-rank-that-had-succeeded-runs-again": {jobtest.New(3), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("one rank is through")
		sim.preempt("bert-worker-2")
		sim.narrate("another is preempted: the next attempt is of all three")
		sim.bindAndStart()
		sim.narrate("all ranks run")
	}},
	"rank-scope-replaces-singly": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}), func(sim *simulation) {
		runGang(sim)
		sim.preempt("bert-worker-3")
		sim.narrate("scope Rank, minAvailable 3: one of four ranks is preempted, the others go on")
		sim.preempt("bert-worker-0")
		sim.narrate("a second one: below minAvailable, everything goes back")
	}},
}

// loseNode2 lets a node die with the gang's last rank on it, while another rank is preempted.
func loseNode2(sim *simulation) {
	sim.podsLinger = true
	sim.nodes["node-2"] = observation.NodeState{}
	sim.logf("node-2 dies")
	sim.preempt("bert-worker-0")
	sim.narrate("a rank is preempted")
	sim.removePod("bert-worker-0")
	sim.removePod("bert-worker-1")
	sim.narrate("the pods on the other nodes are gone; the one on node-2 is past its grace period")
}
