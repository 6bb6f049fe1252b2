package trainingjob

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Success policies, role minimums, and edits of running jobs.
var policyStories = map[string]story{
	"policy-all-workers-and-the-leader": {jobtest.New(0, jobtest.Roles, successOf(v1alpha1.SuccessAllWorkers)),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-master-0")
			sim.advance(10 * time.Second)
			sim.narrate("the Master has succeeded, and its Workers have not")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("the Workers have succeeded")
		}},
	"policy-first-worker-leads": {jobtest.New(3, successOf(v1alpha1.SuccessLeader)), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-2")
		sim.advance(10 * time.Second)
		sim.narrate("a Worker has succeeded, which decides nothing")
		sim.exit(0, "bert-worker-0")
		sim.narrate("the first Worker has succeeded")
	}},
	"policy-edited-while-it-runs": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(10 * time.Second)
		sim.narrate("the first Worker has succeeded")
		sim.job.Spec.SuccessPolicy = v1alpha1.SuccessLeader
		sim.job.Generation++
		sim.narrate("the user makes the first Worker decide")
	}},
	"role-minimums": {jobtest.New(0, jobtest.Roles, roleMinimums), func(sim *simulation) {
		sim.converge()
		sim.log.Reset()
		sim.bindAndStart("bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.narrate("three ranks are running, but not the Master")
		sim.bindAndStart("bert-master-0")
		sim.narrate("the Master is running too")
		sim.bindAndStart()
		sim.advance(10 * time.Second)
		sim.narrate("the last Worker is running")
	}},
	"status-of-the-ranks": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the job is queued")
		sim.logRanks()
		sim.bind()
		sim.advance(6 * time.Second)
		sim.narrate("all ranks are bound")
		sim.logRanks()
		sim.start("bert-worker-0", "bert-worker-1")
		sim.advance(6 * time.Second)
		sim.narrate("two ranks are running")
		sim.logRanks()
		sim.start("bert-worker-2")
		sim.converge()
		sim.advance(6 * time.Second)
		sim.narrate("all ranks are running")
		sim.logRanks()
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.logRanks()
	}},
	"checkpoints-edited-while-it-runs": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Spec.Checkpoint.Interval, sim.job.Spec.Checkpoint.KeepLast = new(int32(60)), new(int32(9))
		sim.job.Generation++
		sim.narrate("the user changes interval and keepLast, and the gang continues")
	}},
	"checkpoints-edited-after-an-upgrade": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint.Interval = new(int32(600))
	}), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Status.Revision = spec.FormerRevision(sim.job)
		sim.narrate("an older operator, whose revision included the interval, started the attempt; it continues")
		sim.job.Spec.Checkpoint.Interval = new(int32(60))
		sim.job.Generation++
		sim.narrate("the user changes the interval, and the gang continues")
	}},
}

func successOf(policy v1alpha1.SuccessPolicy) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.SuccessPolicy = policy }
}

// roleMinimums requires the Master and two of four Workers to start together.
func roleMinimums(j *v1alpha1.TrainingJob) {
	worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	worker.Replicas, worker.MinAvailable = new(int32(4)), new(int32(2))
	j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
}

// logRanks logs the fields of the status about single ranks.
func (sim *simulation) logRanks() {
	st := &sim.job.Status
	worker := st.ReplicaStatuses[v1alpha1.RoleWorker]
	var started []string
	for _, w := range st.Workers {
		if w.StartTime != nil {
			started = append(started, w.PodName)
		}
	}
	sim.logf("  pending %d, active %d; started: %s; nodes: %s; Created %t, Ready %t",
		worker.Pending, worker.Active, strings.Join(started, " "), strings.Join(st.AllocatedNodes, " "),
		meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionCreated),
		meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionReady))
}
