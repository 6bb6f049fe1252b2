package trainingjob

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Trainers with other containers in their pods.
var besideStories = map[string]story{
	"trainers-exit-0-beside-a-proxy": {jobtest.New(2), func(sim *simulation) {
		sim.beside = besideProxy
		runGang(sim)
		sim.exit(0, "bert-worker-1")
		sim.narrate("a trainer exits 0, and the proxy in its pod runs on")
		sim.advance(5 * time.Second)
		sim.narrate("the status lists the rank as succeeded")
		sim.advance(25 * time.Second)
		sim.narrate("the pod has not ended by itself, and the operator deletes it")
		sim.exit(0, "bert-worker-0")
		sim.narrate("the other trainer exits 0")
		sim.advance(30 * time.Second)
		sim.narrate("its pod has not ended by itself")
	}},
	"trainer-exits-1-beside-a-proxy": {jobtest.New(2), func(sim *simulation) {
		sim.beside = besideProxy
		runGang(sim)
		sim.exit(1, "bert-worker-1")
		sim.narrate("a trainer exits 1, and the proxy in its pod runs on")
		sim.advance(30 * time.Second)
		sim.narrate("its pod has not ended by itself")
		sim.advance(10 * time.Second)
		sim.narrate("the backoff ends")
		sim.bindAndStart()
		sim.narrate("all ranks are running again")
	}},
	"trainers-end-before-native-sidecars": {jobtest.New(2, restartNever), func(sim *simulation) {
		sim.beside = besideNative
		runGang(sim)
		sim.exit(0, "bert-worker-0")
		sim.exit(2, "bert-worker-1")
		sim.narrate("one trainer exits 0 and one 2; their kubelets stop the sidecars")
		sim.advance(5 * time.Second)
		sim.endProxy(137, "bert-worker-0", "bert-worker-1")
		sim.narrate("both pods end by themselves, and stay with their logs")
	}},
	"proxy-fails-while-the-trainer-runs": {jobtest.New(1), func(sim *simulation) {
		sim.beside = besideProxy
		runGang(sim)
		sim.endProxy(1, "bert-worker-0")
		sim.narrate("the proxy fails, which is not the end of the rank")
		sim.exit(0, "bert-worker-0")
		sim.narrate("the trainer exits 0: the pod is Failed, and the rank has succeeded")
	}},
	"trainer-succeeds-beside-a-proxy-and-the-operator-dies": {
		jobtest.New(0, jobtest.RolesOf(v1alpha1.FrameworkPyTorch, map[v1alpha1.Role]int32{v1alpha1.RoleWorker: 2})),
		func(sim *simulation) {
			sim.beside = besideProxy
			runGang(sim)
			sim.logf("(the operator dies)")
			sim.exit(0, "bert-worker-1")
			sim.advance(time.Minute)
			sim.narrate("(the operator is back) first the status lists the success, then the operator deletes the pod")
			sim.logf("(the operator dies, and comes back without memory)")
			sim.departed = nil
			sim.narrate("the rank has no pod, and has succeeded")
			sim.exit(0, "bert-worker-0")
			sim.narrate("the other trainer exits 0")
			sim.endProxy(0, "bert-worker-0")
		}},
	"leader-exits-0-beside-a-proxy-as-a-worker-crashes": {jobtest.New(0, jobtest.Roles), func(sim *simulation) {
		sim.beside, sim.podsLinger = besideProxy, true
		runGang(sim)
		sim.exit(139, "bert-worker-0")
		sim.narrate("a Worker crashes; the Master may have succeeded, so the operator stops no rank yet")
		sim.exit(0, "bert-master-0")
		sim.narrate("the Master exits 0, and its proxy runs on")
		sim.advance(30 * time.Second)
		sim.narrate("the status lists the success, and the operator deletes both pods")
		sim.departed = nil
		sim.removeTerminating()
		sim.departed = nil
		sim.narrate("(the operator is back without memory) the pods are deleted")
	}},
	"preempted-trainers-exit-0-beside-a-proxy": {jobtest.New(2), func(sim *simulation) {
		sim.beside, sim.podsLinger = besideProxy, true
		runGang(sim)
		sim.preempt(sim.rankNames()...)
		sim.advance(time.Second)
		sim.exit(0)
		sim.narrate("all ranks are preempted, and their trainers exit 0 before the proxies")
		sim.removeTerminating()
		sim.narrate("the pods are deleted")
	}},
	"pod-is-deleted-long-after-exit-0-beside-a-proxy": {jobtest.New(1), func(sim *simulation) {
		sim.beside, sim.podsLinger = besideProxy, true
		runGang(sim)
		sim.logf("(the operator dies)")
		sim.exit(0)
		sim.advance(10 * time.Second)
		sim.logf("the user deletes bert-worker-0")
		sim.deletePod(sim.findPod("bert-worker-0"))
		sim.endProxy(0, "bert-worker-0")
		sim.narrate("(the operator is back) the trainer had succeeded before the deletion, by the clocks")
	}},
}

// TestCrashAtEveryEffectOfASuccess crashes the operator before each of its effects in turn, while trainers
// exit 0 beside proxies that run on. The job succeeds in its first attempt, and no pod is left.
func TestCrashAtEveryEffectOfASuccess(t *testing.T) {
	for at := 1; ; at++ {
		effects := playSuccess(t, at)
		if effects >= at {
			continue
		}
		if at < 10 {
			t.Errorf("only %d effects: too few for two ranks that succeed", effects)
		}
		return
	}
}

// playSuccess plays a job of two ranks to its end, with a crash before the given effect. It returns the
// number of effects.
func playSuccess(t *testing.T, crashAt int) int {
	sim := newSimulation(t, jobtest.New(2))
	sim.beside = besideProxy
	runGang(sim)
	effects := 0
	sim.shouldCrash = func() bool {
		if effects++; effects != crashAt {
			return false
		}
		sim.logf("(the operator dies)")
		sim.departed = nil
		return true
	}
	for _, name := range []string{"bert-worker-1", "bert-worker-0"} {
		sim.exit(0, name)
		for range 10 {
			sim.converge()
			sim.advance(5 * time.Second)
		}
	}
	st := sim.job.Status
	live := slices.ContainsFunc(sim.pods, func(p *corev1.Pod) bool { return !observation.Ended(p) })
	repeated := st.Attempt != 1 || st.Restarts != 0 || st.Preemptions != 0
	if st.Phase != v1alpha1.PhaseSucceeded || repeated || live {
		t.Fatalf("crashed before effect %d: %s, attempt %d, live pods left: %t\n%s", crashAt, st.Phase, st.Attempt,
			live, sim.log.String())
	}
	return effects
}
