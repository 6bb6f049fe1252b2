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

// What a job does while it waits for its scheduler, its nodes or its images.
var waitingStories = map[string]story{
	"waits-then-runs": {jobtest.New(4), func(sim *simulation) {
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "8 GPUs are not free")
		sim.narrate("a job of 4 ranks is applied; the scheduler has no room")
		sim.advance(6 * time.Second)
		sim.narrate("it still waits, and now says why")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("room comes")
		sim.bindAndStart()
		sim.narrate("all ranks run")
		sim.exit(0)
		sim.narrate("the training ends")
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
		sim.verdict = judged(scheduler.Hold, "Unschedulable", "no room")
		sim.explanation = short(6)
		sim.narrate("a job is applied; there is too little room")
		sim.advance(6 * time.Second)
		sim.narrate("it still waits, and says why in numbers: the facts outrank the scheduler's own sentence")
		sim.explanation = short(2)
		sim.advance(59 * time.Second)
		sim.narrate("other numbers within a minute: nothing is written")
		sim.advance(time.Second)
		sim.narrate("after a minute they are, without an event")
		sim.advance(time.Minute)
		sim.narrate("the same numbers: nothing is written")
		sim.explanation = &scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed",
			NextStep: "open it",
		}
		sim.advance(time.Second)
		sim.narrate("another reason is written at once, and somebody must act")
		sim.explanation = &scheduler.Explanation{
			Reason: scheduler.ReasonQueueClosed, Object: "queues/org", Message: "queue org is Closed",
		}
		sim.advance(time.Second)
		sim.narrate("the same reason, about another object, is another reason")
		sim.createBackoff = &observation.CreateBackoff{Blocker: v1alpha1.Blocker{
			Reason: v1alpha1.ReasonNameTaken, Message: "the name is taken",
		}}
		sim.advance(time.Second)
		sim.narrate("what the API server refuses outranks all of it")
		sim.createBackoff, sim.explanation = nil, nil
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("room comes")
		sim.bindAndStart()
		sim.narrate("all ranks run, and nothing of it is left")
	}},
	"admitted-in-part": {jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	}), func(sim *simulation) {
		sim.verdict = judged(scheduler.Go, "", "")
		sim.verdict.Admitted = map[string]int32{"worker": 3}
		sim.narrate("the scheduler lets three of four ranks in")
		sim.bindAndStart()
		sim.narrate("the three run: they are the gang")
		sim.exit(0, "bert-worker-0", "bert-worker-1", "bert-worker-2")
		sim.narrate("and finish")
	}},
	"schedule-timeout": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds = new(int32(60))
	}), func(sim *simulation) {
		sim.narrate("a job with a schedule timeout of 60 s is applied")
		sim.advance(59 * time.Second)
		sim.narrate("not yet")
		sim.advance(time.Second)
		sim.narrate("now: its pods and its place in the queue are given back")
		sim.advance(10 * time.Second)
		sim.narrate("it queues again")
		sim.advance(60 * time.Second)
		sim.narrate("and again gives up its place, for longer")
	}},
	"scheduler-not-installed": {jobtest.New(2), func(sim *simulation) {
		b := sim.backend
		sim.backend, sim.schedulerProblem = nil, &v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing,
			Message: "the cluster does not serve scheduling.volcano.sh/v1beta1 PodGroup", NextStep: "install Volcano"}
		sim.narrate("a job is applied to a cluster without its scheduler")
		sim.backend, sim.schedulerProblem = b, nil
		sim.narrate("the scheduler is installed")
	}},
	"quota-refuses-part": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("applied")
		sim.deletePod(sim.findPod("bert-worker-2"))
		sim.createBackoff = &observation.CreateBackoff{GiveBack: true, RetryTime: sim.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		sim.narrate("the namespace's quota refuses the third rank: the other two hold nothing meanwhile")
		sim.advance(6 * time.Second)
		sim.narrate("it says so")
		sim.advance(20 * time.Second)
		sim.narrate("and tries again")
	}},
	"scheduler-rests": {jobtest.New(2), func(sim *simulation) {
		noRoom := &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "4 GPUs, 0 free"}
		rests := &scheduler.Explanation{
			Reason: scheduler.ReasonSchedulerRests, Message: "the nodes have room for 2 ranks at once, and it rests",
		}
		sim.verdict = judged(scheduler.Go, "Unschedulable", "no room")
		sim.explanation = noRoom
		sim.narrate("a job is applied and its scheduler finds no room")
		sim.advance(6 * time.Second)
		sim.narrate("it says so")
		sim.explanation = rests
		sim.advance(20 * time.Second)
		sim.narrate("room comes, and the scheduler does not look: it is woken, which mostly ends the wait")
		sim.advance(5 * time.Second)
		sim.narrate("not so here: the reason is no longer that there is no room")
		sim.advance(5 * time.Second)
		sim.narrate("it is woken again, ten seconds after the first time")
		sim.advance(19 * time.Second)
		sim.narrate("then twice as long passes")
		sim.advance(time.Second)
		sim.narrate("before the third time")
		sim.explanation = noRoom
		sim.advance(40 * time.Second)
		sim.narrate("somebody else has taken the room: nobody is woken for nothing")
		sim.explanation = rests
		sim.advance(11 * time.Minute)
		sim.narrate("much later it is another rest")
		sim.bindAndStart()
		sim.advance(time.Minute)
		sim.narrate("a gang that has its nodes needs nobody woken")
	}},
	"fits-on-no-node": {jobtest.New(2), func(sim *simulation) {
		tooLarge := &scheduler.Explanation{
			Reason: scheduler.ReasonNoNodeLargeEnough, Message: "a rank asks for 9 GPUs, the largest node has 8",
			NextStep: "add larger nodes",
		}
		sim.unplaceable = tooLarge
		sim.narrate("a job is applied whose ranks are larger than any node: it gets no pods")
		sim.advance(6 * time.Second)
		sim.narrate("and says why")
		sim.unplaceable = nil
		sim.narrate("a larger node is added")
		sim.unplaceable = tooLarge
		sim.narrate("and removed before a rank had it: the pods go again, and spend nothing")
		sim.createBackoff = &observation.CreateBackoff{GiveBack: true, RetryTime: sim.now.Add(20 * time.Second),
			Blocker: v1alpha1.Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "quota gpus: 403"}}
		sim.advance(6 * time.Second)
		sim.narrate("what the API server refused before is not the reason now")
		sim.unplaceable, sim.createBackoff = nil, nil
		sim.narrate("the larger node is back")
		sim.bindAndStart()
		sim.unplaceable = tooLarge
		sim.narrate("a gang that has its nodes keeps them")
	}},
	"pending-pod-deleted-by-hand": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("queued, pods pending")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("a pending pod is deleted by hand: it held nothing, so it is created again")
	}},
	"slow-start": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("applied")
		sim.bind()
		sim.narrate("placed; images are being pulled")
		sim.advance(6 * time.Second)
		sim.narrate("that takes a while")
		sim.start()
		sim.narrate("all ranks run")
	}},
	"slow-start-in-a-burst": {jobtest.New(2), func(sim *simulation) {
		sim.waiting = 100
		sim.narrate("applied, as one of many")
		sim.bind()
		sim.narrate("placed")
		sim.advance(14 * time.Second)
		sim.narrate("the nodes are behind with all of them: not worth a write")
		sim.advance(2 * time.Second)
		sim.narrate("this one is late")
		sim.start()
		sim.narrate("all ranks run")
	}},
	"image-cannot-be-pulled": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("a job is applied")
		sim.bind()
		sim.failImagePull("bert-worker-1", "ErrImagePull")
		sim.narrate("one image cannot be pulled")
		sim.advance(6 * time.Second)
		sim.narrate("the gang has its nodes and does not start")
		sim.advance(6 * time.Second)
		sim.narrate("it says why")
		sim.failImagePull("bert-worker-1", "ImagePullBackOff")
		sim.advance(time.Minute)
		sim.narrate("the kubelet's other word for it is no news")
		sim.start()
		sim.narrate("the image is there")
	}},
	"container-cannot-be-configured": {jobtest.New(3), func(sim *simulation) {
		sim.narrate("a job is applied")
		sim.bind()
		for _, name := range []string{"bert-worker-1", "bert-worker-2"} {
			sim.holdContainer(name, "CreateContainerConfigError", `secret "hugging-face" not found`)
		}
		sim.start("bert-worker-0")
		sim.advance(6 * time.Second)
		sim.narrate("the gang has its nodes and does not start")
		sim.advance(6 * time.Second)
		sim.narrate("it says which container of which rank waits for what")
		sim.start("bert-worker-1", "bert-worker-2")
		sim.narrate("the Secret is there")
	}},
	"init-container-cannot-start": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("a job is applied")
		sim.bind()
		sim.holdInitContainer("bert-worker-1", "RunContainerError", "failed to start container 3f2a")
		sim.advance(6 * time.Second)
		sim.converge()
		sim.advance(6 * time.Second)
		sim.narrate("an init container cannot be started")
	}},
	"start-timeout": {jobtest.New(2), func(sim *simulation) {
		sim.narrate("a job is applied")
		sim.bind()
		for _, name := range sim.rankNames() {
			sim.holdContainer(name, "ContainerCreating", "")
		}
		sim.advance(6 * time.Second)
		sim.converge()
		sim.advance(29 * time.Second)
		sim.narrate("a slow start needs no reason yet")
		sim.advanceToWake()
		sim.narrate("after half a minute it has one, although the kubelets name no error")
		sim.advanceToStartTimeout()
		sim.narrate("after half an hour others may have the nodes")
		sim.advance(10 * time.Second)
		sim.narrate("it queues again")
	}},
}
