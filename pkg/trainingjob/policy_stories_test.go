package trainingjob

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// What users choose of a gang's start and end, and what they may edit while it runs.
var policyStories = map[string]story{
	"policy-all-workers-and-the-leader": {jobtest.New(0, jobtest.Roles, successOf(v1alpha1.SuccessAllWorkers)),
		func(sim *simulation) {
			runGang(sim)
			sim.exit(0, "bert-master-0")
			sim.advance(10 * time.Second)
			sim.narrate("the Master is through, and its Workers are not")
			sim.exit(0, "bert-worker-0", "bert-worker-1")
			sim.narrate("and now they are")
		}},
	"policy-first-worker-leads": {jobtest.New(3, successOf(v1alpha1.SuccessLeader)), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-2")
		sim.advance(10 * time.Second)
		sim.narrate("a Worker is through, which decides nothing")
		sim.exit(0, "bert-worker-0")
		sim.narrate("the first one is")
	}},
	"policy-edited-while-it-runs": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.advance(10 * time.Second)
		sim.narrate("the first Worker is through")
		sim.job.Spec.SuccessPolicy = v1alpha1.SuccessLeader
		sim.job.Generation++
		sim.narrate("and the user says that this will do")
	}},
	"minima-of-roles": {jobtest.New(0, jobtest.Roles, minimaOfRoles), func(sim *simulation) {
		sim.converge()
		sim.log.Reset()
		sim.bindAndStart("bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.narrate("as many ranks run as must, but not the Master")
		sim.bindAndStart("bert-master-0")
		sim.narrate("it joins them")
		sim.bindAndStart()
		sim.advance(10 * time.Second)
		sim.narrate("and the last Worker")
	}},
	"status-of-the-ranks": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("queued")
		sim.logRanks()
		sim.bind()
		sim.advance(6 * time.Second)
		sim.narrate("all are bound")
		sim.logRanks()
		sim.start("bert-worker-0", "bert-worker-1")
		sim.advance(6 * time.Second)
		sim.narrate("two run")
		sim.logRanks()
		sim.start("bert-worker-2")
		sim.converge()
		sim.advance(6 * time.Second)
		sim.narrate("all run")
		sim.logRanks()
		setSuspend(sim, true)
		sim.narrate("suspended")
		sim.logRanks()
	}},
	"checkpoints-edited-while-it-runs": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Spec.Checkpoint.Interval, sim.job.Spec.Checkpoint.KeepLast = new(int32(60)), new(int32(9))
		sim.job.Generation++
		sim.narrate("other numbers of the checkpoints end nothing")
	}},
	"checkpoints-edited-after-an-upgrade": {jobtest.New(2, jobtest.Checkpoints, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint.Interval = new(int32(600))
	}), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Status.Revision = spec.FormerRevision(sim.job)
		sim.narrate("an operator that hashed the interval has begun the attempt: it goes on")
		sim.job.Spec.Checkpoint.Interval = new(int32(60))
		sim.job.Generation++
		sim.narrate("also after an edit")
	}},
}

func successOf(policy v1alpha1.SuccessPolicy) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) { j.Spec.SuccessPolicy = policy }
}

// minimaOfRoles: the Master and two of four Workers start together.
func minimaOfRoles(j *v1alpha1.TrainingJob) {
	worker := j.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	worker.Replicas, worker.MinAvailable = new(int32(4)), new(int32(2))
	j.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
}

// logRanks logs what the status says of the ranks beside the gang's count.
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
