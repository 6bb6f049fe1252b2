package trainingjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

type ranksOf = map[v1alpha1.Role]int32

// Ends of parameter servers, schedulers, evaluators and elastic ranks.
var roleStories = map[string]story{
	"parameter-servers-end-with-workers": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 2, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-worker-0")
			sim.narrate("one Worker has succeeded")
			sim.podsLinger = true
			sim.exit(0, "bert-worker-1")
			sim.narrate("the other Worker has succeeded, and the operator stops the parameter servers")
			sim.advance(time.Second)
			sim.exit(143, "bert-ps-0", "bert-ps-1")
			sim.removeTerminating()
			sim.narrate("the parameter servers have exited")
		},
	},
	"parameter-server-fails-as-the-workers-leave": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 1, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.podsLinger = true
			sim.exit(0, "bert-worker-1")
			sim.exit(1, "bert-ps-0")
			sim.narrate("a Worker has succeeded, the parameter server loses its connection and fails, " +
				"and the other Worker may have succeeded")
			sim.advance(time.Second)
			sim.exit(0, "bert-worker-0")
			sim.narrate("the other Worker has succeeded")
		},
	},
	"parameter-server-crashes": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 1, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.exit(139, "bert-ps-0")
			sim.narrate("the parameter server crashes")
			sim.advance(5 * time.Second)
			sim.narrate("the operator stops the Workers, and the gang restarts")
		},
	},
	"chief-decides": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"Chief": 1, "PS": 1, "Worker": 2, "Evaluator": 1})),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers have succeeded, but not the Chief")
			sim.exit(0, "bert-chief-0")
			sim.narrate("the Chief has succeeded, and the operator stops parameter server and Evaluator")
		},
	},
	"evaluator-exits-first": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"Worker": 2, "Evaluator": 1})), func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-evaluator-0")
			sim.advance(6 * time.Second)
			sim.narrate("the Evaluator has succeeded, and the job continues without it")
			sim.removePod("bert-evaluator-0")
			sim.narrate("pod GC deletes its pod")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers have succeeded")
		},
	},
	"scheduler-and-servers-exit-first": {
		jobtest.New(0, jobtest.RolesOf("mxnet", ranksOf{"Scheduler": 1, "Server": 1, "Worker": 2})),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-scheduler-0", "bert-server-0")
			sim.narrate("all ranks pass the last barrier, and Scheduler and Server exit first")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers exit")
		},
	},
	"checkpoint-of-a-gang-with-servers": {
		jobtest.New(0, jobtest.RolesOf("mxnet", ranksOf{"Scheduler": 1, "Server": 1, "Worker": 1}),
			jobtest.Checkpoints), func(sim *simulation) {
			trainTo250(sim)
			sim.podsLinger = true
			sim.saveCheckpoint(250)
			sim.preempt(sim.rankNames()...)
			sim.exit(0, "bert-scheduler-0", "bert-server-0")
			sim.terminate(exited(143), "bert-worker-0")
			sim.narrate("Worker 0 reports its checkpoint; the servers report none")
			runAgain(sim)
		},
	},
	"elastic-loses-a-rank": {
		jobtest.New(4, elastic(2)), func(sim *simulation) {
			runGang(sim)
			sim.preempt("bert-worker-3")
			sim.narrate("one of four is preempted, and the others continue")
			peers := []string{"bert-worker-0", "bert-worker-1", "bert-worker-2"}
			sim.restartContainers(peers...)
			sim.advance(6 * time.Second)
			sim.narrate("the containers of the other three restart: its loss caused that, so no restart is spent")
			sim.bindAndStart("bert-worker-3")
			sim.advance(20 * time.Minute)
			sim.narrate("the fourth rank has been running for long")
			for range 3 {
				sim.restartContainers(peers...)
			}
			sim.advance(6 * time.Second)
			sim.narrate("the containers of the other three restart three times each, " +
				"which counts as three restarts, and not nine")
			sim.restartContainers(peers...)
			sim.narrate("the containers restart once more, which exceeds backoffLimit")
		},
	},
	"elastic-rank-0-is-drained-often": {
		jobtest.New(3, elastic(2)), func(sim *simulation) {
			runGang(sim)
			for i := range 5 {
				sim.advance(time.Hour)
				sim.preempt("bert-worker-0")
				sim.converge()
				sim.restartContainers("bert-worker-1", "bert-worker-2")
				if i%2 == 0 {
					sim.advance(6 * time.Second)
				}
				sim.bindAndStart("bert-worker-0")
				sim.advance(6 * time.Second)
			}
			sim.narrate("rank 0 is preempted five times, the others restart each time, and no restart is spent")
			sim.advance(time.Hour)
			sim.restartContainers("bert-worker-1")
			sim.advance(6 * time.Second)
			sim.narrate("a rank restarts without a disruption, which spends one")
		},
	},
	"elastic-node-restarts-in-place": {
		jobtest.New(3, elastic(2)), func(sim *simulation) {
			runGang(sim)
			sim.advance(time.Hour)
			sim.nodes["node-1"] = observation.NodeState{}
			sim.restartContainers("bert-worker-0", "bert-worker-2")
			sim.advance(6 * time.Second)
			sim.narrate("the node of Worker 1 does not answer, and the containers of its peers restart")
			sim.nodes["node-1"] = observation.NodeState{Ready: true}
			sim.restartNodeInPlace("bert-worker-1")
			sim.advance(6 * time.Second)
			sim.narrate("the node restarts, and its kubelet the container; no restart is spent")
		},
	},
	"rank-scope-init-container-crashes": {
		jobtest.New(0, jobtest.RolesOf("pytorch", ranksOf{"Worker": 3}), func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
			j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
			j.Spec.BackoffLimit = new(int32(5))
			workers := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
			workers.Template.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"}}
			j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = workers
		}), func(sim *simulation) {
			runGang(sim)
			sim.advance(time.Hour)
			sim.preempt("bert-worker-2")
			sim.converge()
			sim.bind("bert-worker-2")
			sim.holdInitContainer("bert-worker-2", "CrashLoopBackOff", "back-off restarting failed container")
			sim.setInitRestarts("bert-worker-2", 3)
			sim.advance(time.Minute)
			sim.narrate("a rank comes back, and its init container crashes: the blocker says so while the gang runs")
			sim.advance(time.Hour)
			sim.setInitRestarts("bert-worker-2", 9)
			sim.narrate("it crashes on, long after the loss: its restarts are counted, and backoffLimit 5 is spent")
		},
	},
	"rank-scope-node-rejects": {
		jobtest.New(3, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
			j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
		}), func(sim *simulation) {
			runGang(sim)
			sim.advance(time.Hour)
			sim.preempt("bert-worker-2")
			sim.converge()
			for _, node := range []string{"node-a", "node-b", "node-c"} {
				sim.bindTo(node, "bert-worker-2")
				sim.rejectPod("bert-worker-2", "OutOfcpu", "Node didn't have enough resource: cpu")
				sim.narrate(node + " rejects the rank: the job avoids it from now on")
				sim.advance(6 * time.Second)
				sim.narrate("it is not created again at once, and the blocker says why")
				sim.advance(time.Minute)
				sim.narrate("the backoff ends, and the rank is created again")
			}
			sim.bindAndStart("bert-worker-2")
			sim.advance(6 * time.Second)
			sim.narrate("another node takes it")
		},
	},
	"rank-scope-many-nodes-reject": {
		jobtest.New(16, func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
			j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(4))
		}), func(sim *simulation) {
			runGang(sim)
			sim.advance(time.Hour)
			rejected := sim.rankNames()[4:]
			sim.preempt(rejected...)
			sim.converge()
			for _, name := range rejected {
				sim.bindTo("node-of-"+name, name)
				sim.rejectPod(name, "OutOfcpu", "Node didn't have enough resource: cpu")
			}
			writes := sim.statusWrites
			sim.narrate("twelve nodes reject ranks: the job avoids eight of them")
			sim.logf("%d writes of the status, excluded: %d", sim.statusWrites-writes,
				len(sim.job.Status.Disruptions.ExcludedNodes))
			sim.advance(7 * time.Minute)
			sim.narrate("the backoff ends, and the ranks are created again")
		},
	},
	"elastic-quota-holds-a-lost-rank-back": {
		jobtest.New(3, elastic(2)), func(sim *simulation) {
			runGang(sim)
			sim.advance(time.Hour)
			sim.createBackoff = &observation.CreateBackoff{
				Blocker:   v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "the quota is used up"},
				RetryTime: sim.now.Add(24 * time.Hour),
			}
			sim.preempt("bert-worker-2")
			sim.restartContainers("bert-worker-0", "bert-worker-1")
			sim.advance(6 * time.Second)
			sim.narrate("a rank is lost, and a quota rejects its next pod")
			sim.advance(time.Hour)
			for range 4 {
				sim.restartContainers("bert-worker-0")
				sim.advance(6 * time.Second)
			}
			sim.narrate("another rank crashes on, which no loss explains any more")
		},
	},
	"elastic-ends-with-worker-0": {
		jobtest.New(3, elastic(2)), func(sim *simulation) {
			sim.converge()
			sim.bindAndStart("bert-worker-0", "bert-worker-1")
			sim.narrate("two of three are running, and train")
			sim.exit(0, "bert-worker-0")
			sim.narrate("Worker 0 has succeeded, which completes the job; the third never ran")
		},
	},
}

// elastic lets a job train with at least so many ranks.
func elastic(least int32) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: least}
	}
}
