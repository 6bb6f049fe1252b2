package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

type ranksOf = map[v1alpha1.Role]int32

// Jobs with roles that serve the Workers, that evaluate, or whose ranks come and go: what their ends mean.
var roleStories = map[string]story{
	"parameter-servers-outlive-nobody": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 2, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-worker-0")
			sim.narrate("one Worker is through")
			sim.podsLinger = true
			sim.exit(0, "bert-worker-1")
			sim.narrate("the other one is too: the parameter servers would wait for ever")
			sim.advance(time.Second)
			sim.exit(143, "bert-ps-0", "bert-ps-1")
			sim.removeTerminating()
			sim.narrate("they have been ended")
		},
	},
	"parameter-server-fails-as-the-workers-leave": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 1, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.podsLinger = true
			sim.exit(0, "bert-worker-1")
			sim.exit(1, "bert-ps-0")
			sim.narrate("a Worker is through, the parameter server loses its connection and fails, " +
				"and the other Worker may be through")
			sim.advance(time.Second)
			sim.exit(0, "bert-worker-0")
			sim.narrate("it is")
		},
	},
	"parameter-server-crashes": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"PS": 1, "Worker": 2})), func(sim *simulation) {
			runGang(sim)
			sim.exit(139, "bert-ps-0")
			sim.narrate("the parameter server crashes")
			sim.advance(5 * time.Second)
			sim.narrate("the Workers cannot go on: they are ended, and the gang starts again")
		},
	},
	"chief-decides": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"Chief": 1, "PS": 1, "Worker": 2, "Evaluator": 1})),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers are through, but not the Chief")
			sim.exit(0, "bert-chief-0")
			sim.narrate("the Chief is: parameter server and Evaluator are ended")
		},
	},
	"evaluator-is-through-first": {
		jobtest.New(0, jobtest.RolesOf("tensorflow", ranksOf{"Worker": 2, "Evaluator": 1})), func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-evaluator-0")
			sim.advance(6 * time.Second)
			sim.narrate("the Evaluator has seen enough: nobody waits for it")
			sim.removePod("bert-evaluator-0")
			sim.narrate("its pod is collected")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers are through")
		},
	},
	"scheduler-and-servers-are-through-first": {
		jobtest.New(0, jobtest.RolesOf("mxnet", ranksOf{"Scheduler": 1, "Server": 1, "Worker": 2})),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-scheduler-0", "bert-server-0")
			sim.narrate("all have met at the last barrier, and Scheduler and Server are the first to exit")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers follow")
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
			sim.narrate("Worker 0 says what it saved; the servers know nothing of it")
			runAgain(sim)
		},
	},
	"elastic-loses-a-rank": {
		jobtest.New(4, elastic(2)), func(sim *simulation) {
			runGang(sim)
			sim.preempt("bert-worker-3")
			sim.narrate("one of four is preempted, and two can train")
			restart := func(n int32) {
				for _, name := range []string{"bert-worker-0", "bert-worker-1", "bert-worker-2"} {
					sim.setRestartCount(name, n)
				}
			}
			restart(3)
			sim.advance(6 * time.Second)
			sim.narrate("the containers of the other three restart three times each: " +
				"that is three restarts, and not nine")
			sim.bindAndStart("bert-worker-3")
			sim.advance(6 * time.Second)
			sim.narrate("it is back")
			restart(4)
			sim.narrate("and they restart once more, which backoffLimit does not allow")
		},
	},
	"elastic-ends-with-worker-0": {
		jobtest.New(3, elastic(2)), func(sim *simulation) {
			sim.converge()
			sim.bindAndStart("bert-worker-0", "bert-worker-1")
			sim.narrate("two of three have room, and train")
			sim.exit(0, "bert-worker-0")
			sim.narrate("Worker 0 is through, and with it all that train: the third never had a place")
		},
	},
}

// elastic lets a job train with so many ranks.
func elastic(least int32) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: least}
	}
}
