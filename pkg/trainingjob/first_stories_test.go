package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Ranks that fail shortly after each other. The cost does not depend on how many failures one reconcile
// observes.
var firstStories = map[string]story{
	"killed-rank-and-its-peers-in-one-pass": {jobtest.New(3, restartByExitCode), func(sim *simulation) {
		runGang(sim)
		sim.exit(137, "bert-worker-2")
		sim.exit(1, "bert-worker-0", "bert-worker-1")
		sim.narrate("a rank is killed, its peers exit 1, one reconcile sees all, and the gang may retry")
	}},
	"killed-rank-then-its-peers": {jobtest.New(3, restartByExitCode), func(sim *simulation) {
		runGang(sim)
		sim.exit(137, "bert-worker-2")
		sim.narrate("a rank is killed, and the operator sees only that")
		sim.advance(time.Second)
		sim.exit(1, "bert-worker-0", "bert-worker-1")
		sim.narrate("its peers exit 1, and the cause stays")
	}},
	"peers-then-the-killed-rank": {jobtest.New(3, restartByExitCode), func(sim *simulation) {
		runGang(sim)
		sim.exit(1, "bert-worker-0")
		sim.narrate("a peer exits 1, and the operator sees only that")
		sim.exit(137, "bert-worker-2")
		sim.exit(1, "bert-worker-1")
		sim.narrate("a slower kubelet reports the killed rank, which is the cause, and the gang may retry")
	}},
	"permanent-failure-long-before-others": {jobtest.New(3, restartByExitCode), func(sim *simulation) {
		runGang(sim)
		sim.exit(2, "bert-worker-0")
		sim.advance(4 * time.Second)
		sim.exit(134, "bert-worker-1", "bert-worker-2")
		sim.narrate("a rank exits 2 and its peers abort 4 s later; the first failure decides")
	}},
	"first-failure-is-reported-late": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		at := sim.now
		sim.oldKubelets = true // newer ones report only the order of end and deletion
		sim.advance(3 * time.Second)
		sim.podsLinger = true
		sim.exit(1, "bert-worker-0")
		sim.narrate("a rank exits 1")
		sim.exitAt(at, 137, "bert-worker-1")
		sim.narrate("the other rank was killed 3 s earlier, and the status shows that failure")
	}},
	"deleted-after-it-failed": {jobtest.New(2), func(sim *simulation) {
		runGang(sim)
		sim.podsLinger = true
		sim.logf("(the operator is away)")
		sim.exit(1, "bert-worker-0")
		sim.advance(time.Minute)
		sim.logf("the user deletes bert-worker-1, which hangs")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("(the operator is back) the deletion came long after the failure and is not its cause")
	}},
}

func restartByExitCode(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = v1alpha1.RestartExitCode }
