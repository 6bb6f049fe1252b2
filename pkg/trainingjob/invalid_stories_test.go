package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Invalid specs of new jobs, and of jobs that have run.
var invalidStories = map[string]story{
	"invalid-spec": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
	}), func(sim *simulation) {
		sim.narrate("the API server accepts an invalid job")
	}},
	"invalid-time-to-live": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(-1))
	}), func(sim *simulation) {
		sim.narrate("the user applies a job with a negative time to live")
		sim.advance(time.Hour)
		sim.narrate("the job stays, so that the user can read the problem")
	}},
	"invalid-while-it-runs": {jobtest.New(3, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	}), func(sim *simulation) {
		runGang(sim)
		sim.job.Labels = map[string]string{v1alpha1.LabelKueueQueue: "other"}
		sim.narrate("the user sets a label that contradicts the spec; CRD rules do not see labels")
		sim.advance(time.Minute)
		sim.narrate("the gang and its group stay, and the blocker describes the problem")
		sim.preempt("bert-worker-1")
		sim.narrate("a rank is preempted, and the gang releases its resources")
		sim.advance(6 * time.Second)
		sim.narrate("the operator creates nothing for an invalid spec")
		sim.job.Labels = nil
		sim.narrate("the user removes the label")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
	}},
	"invalid-edit-that-only-the-scheduler-refuses": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		sim.backend = roleBlindBackend{}
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
		runGang(sim)
		setWorkers(sim, 4)
		sim.advance(6 * time.Second)
		sim.narrate("Worker 2→4 with minAvailable 3: the API server accepts what the scheduler does not support")
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master exits 0, and the attempt was not disturbed")
	}},
	"invalid-edit-that-shrinks": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(3))
	}), func(sim *simulation) {
		runGang(sim)
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("4→2 ranks with minAvailable 3: the operator deletes no rank, and all four still count")
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
		sim.narrate("the scheduler evicts the gang, and the operator does not wait for a correction")
		sim.removeTerminating()
		sim.verdict = judged(scheduler.Hold, "", "")
		sim.narrate("the gang has released its resources")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the reason")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("the user reverts the edit")
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
		sim.narrate("the backoff ends")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
		sim.job.Generation++
		sim.narrate("the user corrects the spec")
	}},
	"invalid-edit-in-the-queue": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("a job is queued")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("its spec becomes invalid, and the operator deletes its group and its pending pods")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.narrate("the user reverts the edit")
	}},
	"invalid-edit-while-suspended": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(9))
		sim.job.Generation++
		sim.advance(6 * time.Second)
		sim.narrate("the user makes the spec invalid, which has no effect yet")
		setSuspend(sim, false)
		sim.advance(6 * time.Second)
		sim.narrate("the user resumes the job")
		sim.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil
		sim.job.Generation++
		sim.narrate("the user corrects the spec")
	}},
}

// setWorkers sets the number of Workers of a job with replicaSpecs.
func setWorkers(sim *simulation, n int32) {
	role := sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	role.Replicas = &n
	sim.job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
	sim.job.Generation++
}

// roleBlindBackend is a backend that counts ranks regardless of their roles.
type roleBlindBackend struct{ stubBackend }

func (roleBlindBackend) Validate(g scheduler.Gang) field.ErrorList {
	if !g.NeedsRoleMinimums() {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "runPolicy", "schedulingPolicy", "minAvailable"),
		g.MinAvailable, "must be the number of all ranks")}
}
