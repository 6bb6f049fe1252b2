package trainingjob

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Jobs that wait for their scheduler, nodes or images.
var waitingStories = map[string]story{
	"waits-then-runs": {jobtest.New(4), func(sim *simulation) {
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "8 GPUs are not free")
		sim.narrate("the user applies a job of 4 ranks, and the scheduler has no capacity")
		sim.advance(6 * time.Second)
		sim.narrate("it still waits, and the status has the reason")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("capacity is free")
		sim.bindAndStart()
		sim.narrate("all ranks are running")
		sim.exit(0)
		sim.narrate("all ranks succeed")
	}},
	"why-it-waits": {jobtest.New(4), func(sim *simulation) {
		short := func(free int64) *scheduler.Explanation {
			return &scheduler.Explanation{
				Reason:   scheduler.ReasonInsufficientResources,
				Message:  fmt.Sprintf("needs 8 GPUs, %d free", free),
				NextStep: "wait",

				Need: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(8, resource.DecimalSI)},
				Free: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(free, resource.DecimalSI)},
			}
		}
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "no capacity")
		sim.explanation = short(6)
		sim.narrate("the user applies a job that does not fit")
		sim.advance(6 * time.Second)
		sim.narrate("it still waits; numbers of the cluster outrank the message of the scheduler")
		sim.explanation = short(2)
		sim.advance(59 * time.Second)
		sim.narrate("other numbers within a minute: no write")
		sim.advance(time.Second)
		sim.narrate("after a minute they are written, without an event")
		sim.advance(time.Minute)
		sim.narrate("the same numbers: no write")
		sim.explanation = &scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed",
			NextStep: "open it",
		}
		sim.advance(time.Second)
		sim.narrate("another reason is written at once, and requires an action of the admin")
		sim.explanation = &scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: "queues/org", Message: "queue org is Closed",
		}
		sim.advance(time.Second)
		sim.narrate("the same reason for another object is written at once")
		sim.createBackoff = &observation.CreateBackoff{Blocker: v1alpha1.Blocker{
			Reason: v1alpha1.ReasonNameTaken, Message: "the name is taken",
		}}
		sim.advance(time.Second)
		sim.narrate("a rejection of the API server outranks all reasons")
		sim.createBackoff, sim.explanation = nil, nil
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("capacity is free")
		sim.bindAndStart()
		sim.narrate("all ranks are running, and the reason is removed")
	}},
	"partially-admitted": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		sim.verdict = judged(scheduler.Go, "", "")
		sim.verdict.Admitted = map[string]int32{"worker": 3}
		sim.narrate("the scheduler admits three of four ranks")
		sim.bindAndStart()
		sim.narrate("the three are running, and form the gang")
		sim.exit(0, "bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.narrate("the three succeed")
	}},
	"schedule-timeout": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds = new(int32(60))
	}), func(sim *simulation) {
		sim.narrate("the user applies a job with a schedule timeout of 60 s")
		sim.advance(59 * time.Second)
		sim.narrate("the timeout is not reached")
		sim.advance(time.Second)
		sim.narrate("at the timeout the operator deletes its pods and its group")
		sim.advance(10 * time.Second)
		sim.narrate("it is queued again")
		sim.advance(60 * time.Second)
		sim.narrate("it times out again, with a longer backoff")
	}},
	"scheduler-not-installed": {jobtest.New(2), func(sim *simulation) {
		b := sim.backend
		sim.backend, sim.schedulerProblem = nil, &v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing,
			Message: "the cluster does not serve scheduling.volcano.sh/v1beta1 PodGroup", NextStep: "install Volcano"}
		sim.narrate("the user applies a job in a cluster without its scheduler")
		sim.backend, sim.schedulerProblem = b, nil
		sim.narrate("the admin installs the scheduler")
	}},
	"quota-rejects-a-rank": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.deletePod(sim.findPod("bert-worker-2"))
		sim.createBackoff = &observation.CreateBackoff{GiveBack: true, RetryTime: sim.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		sim.narrate("the quota of the namespace rejects the third rank, and the operator deletes the other two")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the reason")
		sim.advance(20 * time.Second)
		sim.narrate("the operator retries")
	}},
	"scheduler-rests": {jobtest.New(2), func(sim *simulation) {
		tooLarge := &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "4 GPUs, 0 free"}
		rests := &scheduler.Explanation{
			Reason: scheduler.ReasonSchedulerRests, Message: "2 ranks fit on the nodes, and the scheduler is idle",
		}
		sim.verdict = judged(scheduler.Go, "Unschedulable", "no capacity")
		sim.explanation = tooLarge
		sim.narrate("the user applies a job that does not fit")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the reason")
		sim.explanation = rests
		sim.advance(20 * time.Second)
		sim.narrate("capacity is free, but the scheduler is idle; the operator wakes it")
		sim.advance(5 * time.Second)
		sim.narrate("the scheduler stays idle, and the reason is no longer a lack of capacity")
		sim.advance(5 * time.Second)
		sim.narrate("the operator wakes it again, ten seconds after the first time")
		sim.advance(19 * time.Second)
		sim.narrate("the next wait is twice as long")
		sim.advance(time.Second)
		sim.narrate("the operator wakes it for the third time")
		sim.explanation = tooLarge
		sim.advance(40 * time.Second)
		sim.narrate("another gang has taken the capacity, and the operator does not wake the scheduler")
		sim.explanation = rests
		sim.advance(11 * time.Minute)
		sim.narrate("much later the operator counts from the start again")
		sim.bindAndStart()
		sim.advance(time.Minute)
		sim.narrate("for a gang on nodes the operator does not wake the scheduler")
	}},
	"fits-on-no-node": {jobtest.New(2), func(sim *simulation) {
		tooLarge := &scheduler.Explanation{
			Reason: scheduler.ReasonNoNodeLargeEnough, Message: "a rank requests 9 GPUs, the largest node has 8",
			NextStep: "add larger nodes",
		}
		sim.unplaceable = tooLarge
		sim.narrate("the user applies a job whose ranks fit on no node, and it gets no pods")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the reason")
		sim.unplaceable = nil
		sim.narrate("the admin adds a larger node")
		sim.unplaceable = tooLarge
		sim.narrate("the node is removed before a rank runs there; the pods are deleted without a restart")
		sim.createBackoff = &observation.CreateBackoff{GiveBack: true, RetryTime: sim.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		sim.advance(6 * time.Second)
		sim.narrate("an earlier rejection of the API server is not the reason")
		sim.unplaceable, sim.createBackoff = nil, nil
		sim.narrate("the larger node is available again")
		sim.bindAndStart()
		sim.unplaceable = tooLarge
		sim.narrate("a gang on nodes keeps them")
	}},
	"pending-pod-deleted-by-hand": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("the job is queued, and its pods are pending")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("the user deletes a pending pod, and the operator recreates it")
	}},
	"slow-start": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		sim.narrate("all ranks are bound, and the kubelets pull images")
		sim.advance(6 * time.Second)
		sim.narrate("the pull takes a while")
		sim.start()
		sim.narrate("all ranks are running")
	}},
	"slow-start-in-a-burst": {jobtest.New(2), func(sim *simulation) {
		sim.waiting = 100
		sim.narrate("the user applies one of many jobs")
		sim.bind()
		sim.narrate("all ranks are bound")
		sim.advance(14 * time.Second)
		sim.narrate("with many starting jobs this needs no write")
		sim.advance(2 * time.Second)
		sim.narrate("the start takes too long")
		sim.start()
		sim.narrate("all ranks are running")
	}},
	"image-cannot-be-pulled": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		sim.failImagePull("bert-worker-1", "ErrImagePull")
		sim.narrate("one image cannot be pulled")
		sim.advance(6 * time.Second)
		sim.narrate("the gang is bound and does not start")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the reason")
		sim.failImagePull("bert-worker-1", "ImagePullBackOff")
		sim.advance(time.Minute)
		sim.narrate("another reason of the kubelet for the same problem: no write")
		sim.start()
		sim.narrate("the image is available")
	}},
	"container-cannot-be-configured": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		for _, name := range []string{"bert-worker-1", "bert-worker-2"} {
			sim.holdContainer(name, "CreateContainerConfigError", `secret "hugging-face" not found`)
		}
		sim.start("bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("the gang is bound and does not start")
		sim.advance(6 * time.Second)
		sim.narrate("the status names the rank, the container and the missing Secret")
		sim.start("bert-worker-1", "bert-worker-2")
		sim.narrate("the Secret exists")
	}},
	"init-container-cannot-start": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		sim.holdInitContainer("bert-worker-1", "RunContainerError", "failed to start container 3f2a")
		sim.advance(6 * time.Second)
		sim.converge()
		sim.advance(6 * time.Second)
		sim.narrate("an init container cannot be started")
	}},
	"start-timeout": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		for _, name := range sim.rankNames() {
			sim.holdContainer(name, "ContainerCreating", "")
		}
		sim.advance(6 * time.Second)
		sim.converge()
		sim.advance(29 * time.Second)
		sim.narrate("a slow start needs no reason yet")
		sim.advanceToWake()
		sim.narrate("after half a minute it has a reason, although the kubelets report no error")
		sim.advanceToStartTimeout()
		sim.narrate("after half an hour the operator releases the nodes")
		sim.advance(10 * time.Second)
		sim.narrate("it is queued again")
	}},
}
