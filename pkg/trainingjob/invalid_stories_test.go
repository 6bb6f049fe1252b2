package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Specs that make no sense: of new jobs, and of jobs that have run already.
var invalidStories = map[string]story{
	"invalid-spec": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
	}), func(sim *simulation) {
		sim.narrate("a job that makes no sense is applied, and the API server has let it through")
	}},
	"invalid-time-to-live": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(-1))
	}), func(sim *simulation) {
		sim.narrate("a job that is to be deleted before it has finished is applied")
		sim.advance(time.Hour)
		sim.narrate("it stays, so that its user can read what is wrong with it")
	}},
	"invalid-while-it-runs": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	}), func(sim *simulation) {
		runGang(sim)
		sim.job.Labels = map[string]string{v1alpha1.LabelKueueQueue: "other"}
		sim.narrate("a label is edited that contradicts the spec; no rule of the CRD sees labels")
		sim.advance(time.Minute)
		sim.narrate("the gang goes on, its group stays, and the blocker says what is wrong")
		sim.preempt("bert-worker-1")
		sim.narrate("a rank is preempted: what the gang held is given back")
		sim.advance(6 * time.Second)
		sim.narrate("nothing is created for a spec that makes no sense")
		sim.job.Labels = nil
		sim.narrate("the label is removed")
		sim.bindAndStart()
		sim.narrate("all ranks run again")
	}},
	"invalid-edit-that-only-the-scheduler-refuses": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		sim.backend = wholeRolesBackend{}
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
		runGang(sim)
		setWorkers(sim, 4)
		sim.advance(6 * time.Second)
		sim.narrate("Worker 2→4 beside minAvailable 3: the API server accepts what this scheduler cannot do")
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master exits 0: the attempt was never disturbed")
	}},
	"invalid-edit-that-shrinks": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}), func(sim *simulation) {
		runGang(sim)
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("4→2 ranks beside minAvailable 3: no rank is deleted, and all four still count")
		sim.exit(0)
		sim.narrate("all four exit 0")
	}},
	"invalid-edit-then-evicted": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("the spec becomes invalid")
		sim.verdict = judged(scheduler.Yield, "Preempted", "a higher gang needs the quota")
		sim.narrate("an eviction does not wait for its correction")
		sim.removeTerminating()
		sim.verdict = judged(scheduler.Hold, "", "")
		sim.narrate("the places are given back")
		sim.advance(6 * time.Second)
		sim.narrate("it says why it waits")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("the edit is undone")
	}},
	"invalid-edit-then-a-failure": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("the spec becomes invalid")
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank fails")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff is over")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
		sim.job.Generation++
		sim.narrate("the spec is corrected")
	}},
	"invalid-edit-in-the-queue": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("a job is queued")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("its spec becomes invalid: it gives up its place, and its pending pods")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.narrate("the edit is undone")
	}},
	"invalid-edit-while-suspended": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("and makes a mistake: that fails nothing, and blocks nothing yet")
		setSuspend(sim, false)
		sim.advance(6 * time.Second)
		sim.narrate("it is to go on")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.narrate("the mistake is corrected")
	}},
}

// setWorkers edits the number of Workers of a job in the full form.
func setWorkers(sim *simulation, n int32) {
	role := sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	role.Replicas = &n
	sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
	sim.job.Generation++
}

// wholeRolesBackend is a dialect that counts ranks regardless of their roles.
type wholeRolesBackend struct{ stubBackend }

func (wholeRolesBackend) Validate(g scheduler.Gang) field.ErrorList {
	if !g.NeedsRoleMinimums() {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "runPolicy", "schedulingPolicy", "minAvailable"),
		g.MinAvailable, "must be the number of all ranks")}
}
