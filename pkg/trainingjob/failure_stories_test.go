package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Ranks that fail.
var failureStories = map[string]story{
	"fails-until-the-limit": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(1))
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank exits 1")
		sim.advance(9 * time.Second)
		sim.narrate("the backoff continues")
		sim.advance(time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
		sim.exit(137, "bert-worker-0")
		sim.narrate("another rank is killed, and backoffLimit is spent")
	}},
	"backoff-keeps-the-place": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.BackoffLimit = new(int32(9))
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank exits 1; the gang keeps its group during a short backoff")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.job.Status.Restarts = 4
		sim.narrate("all ranks are running again, after some more failures")
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank exits 1; the gang releases its group during a long backoff")
	}},
	"backoff-ends-in-a-suspension": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank exits 1")
		setSuspend(sim, true)
		sim.narrate("the user suspends the job during the backoff, and it must hold no resources")
	}},
	"backoff-without-a-place-to-keep": {jobtest.New(2), func(sim *simulation) {
		sim.backend = attemptBackend{}
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank exits 1; each attempt has its own group, so the gang keeps none")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
	}},
	"permanent-exit-code": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RestartPolicy = v1alpha1.RestartExitCode
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(143, "bert-worker-0")
		sim.narrate("exit code 143 may be retried; the operator waits, because the peer may have failed first")
		sim.advance(5 * time.Second)
		sim.narrate("the peer has not failed")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
		sim.exit(2, "bert-worker-0")
		sim.narrate("exit code 2 is permanent, unless the peer failed first")
		sim.advance(5 * time.Second)
		sim.narrate("the peer has not failed")
	}},
	"rank-scope-pod-fails": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
	}), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("scope Rank: the kubelet restarts containers, so a pod that fails by itself would fail " +
			"again: the gang restarts after a backoff, and a restart is spent")
	}},
	"rank-scope-restarts-are-spent": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.BackoffLimit = new(int32(2))
	}), func(sim *simulation) {
		runGang(sim)
		sim.restartContainers("bert-worker-0", "bert-worker-1")
		sim.advance(6 * time.Second)
		sim.narrate("the kubelets restarted two containers")
		sim.restartContainers("bert-worker-1")
		sim.narrate("a kubelet restarts a third one, and backoffLimit 2 is spent")
	}},
}
