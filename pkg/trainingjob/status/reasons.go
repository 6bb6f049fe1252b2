package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// blocker is the one reason why the gang does not run: first what the operator itself waits for, then what is
// known of the scheduler and the cluster (scheduler.Explain has the order), then what the scheduler says.
func blocker(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if b, hung := hangingPods(o); hung {
		return b, true
	}
	switch o.Job.Status.Phase {
	case v1alpha1.PhaseDraining:
		if decision.Search(o.Job) != nil && o.CreateBackoff != nil {
			return o.CreateBackoff.Blocker, true
		}
		return v1alpha1.Blocker{}, false
	case v1alpha1.PhaseRunning, v1alpha1.PhaseStarting:
		if b, invalid := invalidSpec(o); invalid {
			return b, true
		}
		if o.CreateBackoff != nil {
			return o.CreateBackoff.Blocker, true
		}
		return imageProblem(o)
	}
	return queuedBlocker(o)
}

// queuedBlocker is the reason why a queued gang waits.
func queuedBlocker(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if o.Backend == nil && o.SchedulerProblem != nil {
		return *o.SchedulerProblem, true
	}
	if len(o.Stale) > 0 {
		first := slices.MinFunc(o.Stale, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		return v1alpha1.Blocker{
			Reason:  v1alpha1.ReasonTerminating,
			Message: "pods of the last attempt are still there, first " + first.Name,
		}, true
	}
	if b, invalid := invalidSpec(o); invalid {
		return b, true
	}
	switch {
	case o.CreateBackoff != nil:
		return o.CreateBackoff.Blocker, true
	case o.Placed() >= o.Min:
		return v1alpha1.Blocker{}, false
	}
	if b, gated := gatedRanks(o); gated {
		return b, true
	}
	// Also where the scheduler has said yes: it has had StatusDelay to act on it (see refreshBlocker).
	return waitReason(o), true
}

// invalidSpec is the reason why nothing is added to a gang whose spec is invalid although it was accepted
// once: a newer operator is stricter, or a label or an annotation was edited, which no rule of the CRD can
// see.
func invalidSpec(o *observation.Observation) (v1alpha1.Blocker, bool) {
	errs := o.Gang.Errors()
	if len(errs) == 0 {
		return v1alpha1.Blocker{}, false
	}
	return v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonInvalidSpec,
		Message:  "the job is invalid, so no rank is added to it: " + errs.ToAggregate().Error(),
		NextStep: "correct what the message names; ranks that run go on until then",
	}, true
}

// waitReason of a gang that waits for its scheduler alone.
func waitReason(o *observation.Observation) v1alpha1.Blocker {
	if o.Why != nil {
		if e, known := o.Why(); known {
			return v1alpha1.Blocker{
				Reason: e.Reason, Object: e.Object, Message: e.Message, Need: e.Need, Free: e.Free, NextStep: e.NextStep,
			}
		}
	}
	if v := o.Verdict; v.Reason != "" {
		return v1alpha1.Blocker{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}
	}
	if message := unplaced(o); message != "" {
		return v1alpha1.Blocker{Reason: v1alpha1.ReasonUnschedulable, Message: message}
	}
	state := fmt.Sprintf("by %s: %s, minAvailable %d", o.SchedulerAndQueue(), o.Size(), o.Min)
	if !o.Verdict.Judged {
		// There is capacity, no other gang comes first, and the scheduler has written nothing.
		return v1alpha1.Blocker{
			Reason: v1alpha1.ReasonNotJudged, Message: "not judged yet " + state,
			NextStep: "if this lasts, see that the scheduler runs",
		}
	}
	return v1alpha1.Blocker{Reason: v1alpha1.ReasonWaitingInQueue, Message: "not placed yet " + state}
}

// unplaced is what the scheduler wrote on the first rank that it could not place.
func unplaced(o *observation.Observation) string {
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.State == observation.RankPending {
			if message := observation.Unschedulable(r.Pod); message != "" {
				return message
			}
		}
	}
	return ""
}

// imagePulls are the kubelet's reasons for a container whose image it cannot get
// (k8s.io/kubernetes/pkg/kubelet/images/types.go). They alternate while it tries again, and so do its
// messages: the blocker repeats neither.
var imagePulls = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
	"RegistryUnavailable",
}

// imageProblem of a gang that has its nodes and does not start.
func imageProblem(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if o.Job.Status.Phase != v1alpha1.PhaseStarting {
		return v1alpha1.Blocker{}, false
	}
	var first *corev1.Pod
	var images []string
	var ranks int32
	for i := range o.Ranks {
		r := &o.Ranks[i]
		image := ""
		if r.State == observation.RankBound {
			image = imageMissing(r.Pod)
		}
		if image == "" {
			continue
		}
		ranks++
		first = cmp.Or(first, r.Pod)
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	if first == nil {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(images)
	return v1alpha1.Blocker{
		Reason: v1alpha1.ReasonImagePullFailed,
		Message: fmt.Sprintf("the nodes cannot pull image %s for %s of %d",
			strings.Join(images, ", "), observation.Plural(ranks, "rank"), o.Total()),
		NextStep: fmt.Sprintf("kubectl describe pod %s -n %s shows the registry's answer: "+
			"correct the image's name, or give the job imagePullSecrets", first.Name, first.Namespace),
	}, true
}

// imageMissing is the image that a pod's kubelet cannot get; "" when there is none.
func imageMissing(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && slices.Contains(imagePulls, w.Reason) {
			return c.Image
		}
	}
	return ""
}

// hangingPods finds pods whose deletion hangs on a node that does not answer. Only waiting is safe: their
// containers may still run, and a second rank beside them would train against them.
func hangingPods(o *observation.Observation) (v1alpha1.Blocker, bool) {
	var nodes []string
	for _, pod := range o.Pods {
		if o.OnLostNode(pod) && !slices.Contains(nodes, pod.Spec.NodeName) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	if len(nodes) == 0 {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(nodes)
	list := strings.Join(nodes, ", ")
	return v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonNodeLost,
		Message: "ranks cannot be ended: node " + list + " does not answer, they may still run there",
		NextStep: "when the machine is known to be off, delete the node or taint it " +
			"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
	}, true
}
