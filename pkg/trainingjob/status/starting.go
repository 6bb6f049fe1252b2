package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// startProblem returns why ranks that have had their nodes do not run, while the gang starts or runs without
// them. In phase Starting, the start timeout ends the wait.
func startProblem(o *observation.Observation) (v1alpha1.Blocker, bool) {
	for _, problem := range []func(*observation.Observation) (v1alpha1.Blocker, bool){
		imageProblem, containerProblem, rejection, slowStart,
	} {
		if b, found := problem(o); found {
			return b, true
		}
	}
	return v1alpha1.Blocker{}, false
}

// heldRank is a rank that is bound to a node, and the container that keeps it from running.
type heldRank struct {
	pod       *corev1.Pod
	container corev1.ContainerStatus
}

// heldRanks returns the ranks with a container that waits for a reason that passes the filter. The pod of a
// running rank whose container crashes is in phase Running.
func heldRanks(o *observation.Observation, by func(reason string) bool) []heldRank {
	var held []heldRank
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.State != observation.RankBound && r.State != observation.RankRunning {
			continue
		}
		for _, containers := range [][]corev1.ContainerStatus{
			r.Pod.Status.InitContainerStatuses, r.Pod.Status.ContainerStatuses,
		} {
			found := slices.IndexFunc(containers, func(c corev1.ContainerStatus) bool {
				return c.State.Waiting != nil && by(c.State.Waiting.Reason)
			})
			if found >= 0 {
				held = append(held, heldRank{r.Pod, containers[found]})
				break
			}
		}
	}
	return held
}

func (h heldRank) String() string {
	return fmt.Sprintf("container %s of %s", h.container.Name, h.pod.Name)
}

// describe returns the command that shows the kubelet's messages about a pod.
func describe(pod *corev1.Pod) string {
	return fmt.Sprintf("kubectl describe pod %s -n %s", pod.Name, pod.Namespace)
}

// imagePulls are the kubelet's reasons for a container whose image it cannot get
// (k8s.io/kubernetes/pkg/kubelet/images/types.go, 1.37). They alternate between retries, as do its
// messages, so the blocker has neither.
var imagePulls = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
	"RegistryUnavailable", "SignatureValidationFailed",
}

func isImagePull(reason string) bool { return slices.Contains(imagePulls, reason) }

// imageProblem returns the blocker of ranks whose images cannot be pulled.
func imageProblem(o *observation.Observation) (v1alpha1.Blocker, bool) {
	held := heldRanks(o, isImagePull)
	if len(held) == 0 {
		return v1alpha1.Blocker{}, false
	}
	var images []string
	for _, h := range held {
		images = append(images, observation.Line(h.container.Image))
	}
	slices.Sort(images)
	return v1alpha1.Blocker{
		Reason: v1alpha1.ReasonImagePullFailed,
		Message: fmt.Sprintf("the nodes cannot pull image %s for %s of %d, first for %s",
			strings.Join(slices.Compact(images), ", "), observation.Plural(int32(len(held)), "rank"), o.Total(),
			held[0]),
		NextStep: describe(held[0].pod) + " shows the registry's answer: " +
			"correct the image's name, or give the job imagePullSecrets",
	}, true
}

// isHeld reports whether a waiting reason is an error: any but those of containers that have not started yet
// (k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go, 1.37).
func isHeld(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}

// containerProblem returns the blocker of ranks with a container that the kubelet cannot start, for any
// reason: CreateContainerConfigError, CreateContainerError, RunContainerError, CrashLoopBackOff and so on.
func containerProblem(o *observation.Observation) (v1alpha1.Blocker, bool) {
	held := heldRanks(o, isHeld)
	if len(held) == 0 {
		return v1alpha1.Blocker{}, false
	}
	first := held[0]
	waiting := first.container.State.Waiting
	b := v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonContainerNotStarted,
		Message:  fmt.Sprintf("%s does not start: %s", first, observation.Line(waiting.Reason)),
		NextStep: describe(first.pod) + " shows the kubelet's answer: correct what it names",
	}
	if waiting.Reason == "CreateContainerConfigError" && waiting.Message != "" { // the same at every try
		b.Message += ": " + observation.Line(firstLine(waiting.Message))
		b.NextStep = fmt.Sprintf("create what is missing in namespace %s (the kubelet then continues), "+
			"or correct the job's env and volumes", first.pod.Namespace)
	}
	if n := int32(len(held) - 1); n > 0 {
		b.Message += fmt.Sprintf(" (and %s more)", observation.Plural(n, "rank"))
	}
	return b, true
}

// rejection returns the blocker of a rank that its node rejected, while the rank waits for its next pod.
func rejection(o *observation.Observation) (v1alpha1.Blocker, bool) {
	for i := range o.Ranks {
		r := &o.Ranks[i]
		by, rejected := r.RejectedBy()
		if !rejected || r.State != observation.RankFailed {
			continue
		}
		return v1alpha1.Blocker{
			Reason: v1alpha1.ReasonContainerNotStarted,
			Message: fmt.Sprintf("node %s rejected %s (%s): %s; after a backoff, the rank is created again for "+
				"another node", by.Node, r.Pod.Name, by.Reason, by.Message),
			NextStep: "an admin checks why the scheduler and the kubelet of that node disagree: " +
				"kubectl describe node " + by.Node,
		}, true
	}
	return v1alpha1.Blocker{}, false
}

// slowStartDelay is how long ranks can start before the operator reports a reason.
const slowStartDelay = 30 * time.Second

// slowStartAt returns when the start of the rank takes long: slowStartDelay after the gang entered its phase
// and the rank got its node.
func slowStartAt(o *observation.Observation, r *observation.Rank) time.Time {
	return slices.MaxFunc([]time.Time{o.PhaseSince(), r.PlacedAt()}, time.Time.Compare).Add(slowStartDelay)
}

// startsSlowlyAt returns when the first of the ranks that start begins to take long; false if none starts.
func startsSlowlyAt(o *observation.Observation) (first time.Time, found bool) {
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.State == observation.RankBound {
			if at := slowStartAt(o, r); !found || at.Before(first) {
				first, found = at, true
			}
		}
	}
	return first, found
}

// slowStart returns the blocker of ranks that start slowly without a kubelet error. Volumes, networks and
// large images take time, and errors of the first two appear only in the pods' events.
func slowStart(o *observation.Observation) (v1alpha1.Blocker, bool) {
	var first *corev1.Pod
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.State == observation.RankBound && !o.Now.Before(slowStartAt(o, r)) {
			first = cmp.Or(first, r.Pod)
		}
	}
	if first == nil {
		return v1alpha1.Blocker{}, false
	}
	return v1alpha1.Blocker{
		Reason: v1alpha1.ReasonContainerCreating,
		Message: fmt.Sprintf("%d of %s have nodes and do not run yet, first %s on %s: %s",
			o.Count(observation.RankBound), observation.Plural(o.Total(), "rank"), first.Name, first.Spec.NodeName,
			startStep(first)),
		NextStep: describe(first) + " shows in its events what the node waits for",
	}, true
}

// startStep describes what a node does for a pod that it has not started.
func startStep(pod *corev1.Pod) string {
	for _, c := range pod.Status.InitContainerStatuses {
		if c.State.Running != nil {
			return "its init container " + c.Name + " runs"
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse {
			return "its volumes or its network are not ready"
		}
	}
	return "its images are pulled, or its volumes are attached"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
