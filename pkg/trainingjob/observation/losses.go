package observation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Loss is a rank that did not end by itself.
type Loss struct {
	Rank            spec.RankRef
	Reason, Message string
	// asked is when somebody asked for its deletion, where that is all that is known of the cause; else zero.
	asked time.Time
}

// causes leaves out deletions that came after the first failure: whoever deletes what is left of a gang that
// has failed is not why it did. A mark and a lost node stay, whenever they are seen, since a node is known to
// be lost long after the ranks that it breaks have ended.
func causes(lost []Loss, failed []Failure) []Loss {
	if len(failed) == 0 {
		return lost
	}
	late := failed[0].Finished.Add(clockMargin)
	return slices.DeleteFunc(lost, func(l Loss) bool { return !l.asked.IsZero() && l.asked.After(late) })
}

// lostRanks are the ranks that a disruption took: preempted, evicted, deleted by others, on a lost node, or
// gone without a trace. It is meant for phases in which the operator itself deletes no pod of the attempt
// that holds a node: there, whoever deletes one is somebody else.
func lostRanks(job *v1alpha1.TrainingJob, ranks *Attempt) []Loss {
	var lost []Loss
	var missing []spec.RankRef
	for i := range ranks.Ranks {
		r := &ranks.Ranks[i]
		switch r.State {
		case RankMissing:
			if r.Departed == nil {
				missing = append(missing, r.RankRef)
			} else if l, ok := takenAway(r, r.Departed); ok {
				lost = append(lost, l)
			}
		case RankEnding, RankFailed:
			if l, ok := takenAway(r, r.Pod); ok {
				lost = append(lost, l)
			}
		}
	}
	if len(missing) > 0 && len(lost) == 0 && vanished(job, ranks) {
		name := spec.PodName(job.Name, missing[0])
		lost = append(lost, Loss{Rank: missing[0], Reason: v1alpha1.ReasonPodVanished,
			Message: fmt.Sprintf("pod %s is gone and left no trace of why", name)})
	}
	if r, ok := replaced(job, ranks); ok && len(lost) == 0 {
		name := spec.PodName(job.Name, r)
		lost = append(lost, Loss{Rank: r, Reason: v1alpha1.ReasonPodVanished,
			Message: fmt.Sprintf("pod %s waits for a node beside a gang that runs: the one before it is gone",
				name)})
	}
	return lost
}

// replaced finds a rank that waits for a node although the gang was whole: its first pod has been replaced by
// a process that did not know that the gang runs. In scope Rank that is how ranks come back; in scope Gang
// the others run or end without it, and it waits for ever.
func replaced(job *v1alpha1.TrainingJob, ranks *Attempt) (spec.RankRef, bool) {
	hadNode := ranks.Total() - ranks.Count(RankPending, RankMissing)
	if job.Status.Phase != v1alpha1.PhaseRunning || spec.Scope(job) != v1alpha1.ScopeGang ||
		job.Status.Revision != spec.Revision(job) || hadNode >= spec.MinAvailable(job) {
		return spec.RankRef{}, false
	}
	i := slices.IndexFunc(ranks.Ranks, func(r Rank) bool { return r.State == RankPending })
	if i < 0 {
		return spec.RankRef{}, false
	}
	return ranks.Ranks[i].RankRef, true
}

// lostWhileDraining are the signs of a disruption that show while the operator itself deletes pods: deletions
// then say nothing, but the mark of a disruption and a node on which a deletion hangs still do.
func lostWhileDraining(ranks *Attempt, nodes map[string]NodeState, now time.Time) []Loss {
	var lost []Loss
	for i := range ranks.Ranks {
		r := &ranks.Ranks[i]
		pod := r.LastPod()
		if pod == nil || pod.Spec.NodeName == "" {
			continue
		}
		if c := disrupted(pod); c != nil {
			lost = append(lost, markedLoss(r, pod, c))
		} else if r.Pod != nil && onLostNode(pod, nodes, now) {
			lost = append(lost, Loss{Rank: r.RankRef, Reason: v1alpha1.ReasonNodeLost,
				Message: fmt.Sprintf("node %s of %s is lost", pod.Spec.NodeName, pod.Name)})
		}
	}
	return lost
}

// onLostNode reports whether the pod was told to end, its grace period is over, and it has a node that does
// not answer. DeletionTimestamp is the end of the grace period.
func onLostNode(pod *corev1.Pod, nodes map[string]NodeState, now time.Time) bool {
	return pod.DeletionTimestamp != nil && !Ended(pod) && !now.Before(pod.DeletionTimestamp.Time) &&
		pod.Spec.NodeName != "" && !nodes[pod.Spec.NodeName].Ready
}

// vanished reports whether ranks that had a pod have none now, although no deletion was seen (the operator
// was away).
//
// Once the gang is placed, the status says how many ranks had one. Before, it need not; but no scheduler
// binds a rank of a gang of which fewer than minAvailable pods exist, so some must have been there, also
// where those that were bound have failed since: that their peer is gone is why. The numbers of a spec that
// has changed since prove nothing: a gang that is to grow has lost no rank.
func vanished(job *v1alpha1.TrainingJob, ranks *Attempt) bool {
	present := ranks.Present()
	if ranks.everBound() && present < spec.MinAvailable(job) && job.Status.Revision == spec.Revision(job) {
		return true
	}
	if ph := job.Status.Phase; ph != v1alpha1.PhaseStarting && ph != v1alpha1.PhaseRunning {
		return false
	}
	var known int32
	for _, rs := range job.Status.ReplicaStatuses {
		known += rs.Active + rs.Succeeded + rs.Failed
	}
	return present < known
}

// takenAway reports whether somebody else ended this pod while it held a node, and why. A pod that failed by
// itself and was deleted later was not taken, and neither was one that broke its own limits.
func takenAway(r *Rank, pod *corev1.Pod) (Loss, bool) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded && !r.CutShort {
		return Loss{}, false
	}
	if c := disrupted(pod); c != nil {
		return markedLoss(r, pod, c), true
	}
	if brokeOwnLimit(pod) {
		return Loss{}, false
	}
	if pod.Status.Phase == corev1.PodFailed && endedByKubelet(pod.Status.Reason) {
		message := fmt.Sprintf("%s: %s: %s", pod.Name, Line(pod.Status.Reason), sentence(pod.Status.Message))
		return Loss{Rank: r.RankRef, Reason: v1alpha1.ReasonEvicted, Message: message}, true
	}
	if pod.DeletionTimestamp != nil && (!Ended(pod) || toldToEnd(pod)) {
		message := fmt.Sprintf("pod %s was deleted by somebody else", pod.Name)
		asked, _ := deletionAsked(pod)
		return Loss{Rank: r.RankRef, Reason: v1alpha1.ReasonPodDeleted, Message: message, asked: asked}, true
	}
	return Loss{}, false
}

// markedLoss is the loss of a rank whose pod bears the mark of a disruption.
func markedLoss(r *Rank, pod *corev1.Pod, c *corev1.PodCondition) Loss {
	message := pod.Name + ": " + sentence(c.Message)
	return Loss{Rank: r.RankRef, Reason: disruptionReason(c.Reason), Message: message}
}

// disruptionReason groups the reasons of the DisruptionTarget condition (k8s.io/api/core/v1,
// "PodDisruptionConditions").
func disruptionReason(reason string) string {
	switch reason {
	case corev1.PodReasonPreemptionByScheduler:
		return v1alpha1.ReasonPreempted
	case "DeletionByPodGC", "DeletionByTaintManager":
		return v1alpha1.ReasonNodeLost
	}
	return v1alpha1.ReasonEvicted // EvictionByEvictionAPI, TerminationByKubelet and reasons of later versions
}

// evicted is the kubelet's reason for a pod that its eviction manager ends or rejects
// (k8s.io/kubernetes/pkg/kubelet/eviction).
const evicted = "Evicted"

// brokeOwnLimit reports whether the kubelet evicted a pod because it used more local storage than it may, in
// all, in a container, or in an emptyDir. Unlike under pressure on the node, it does not mark the pod as a
// DisruptionTarget then, and nothing but its message tells the two apart where no mark is used
// (k8s.io/kubernetes v1.37.1, pkg/kubelet/eviction/helpers.go: emptyDirMessageFmt,
// podEphemeralStorageMessageFmt, containerEphemeralStorageMessageFmt).
func brokeOwnLimit(pod *corev1.Pod) bool {
	m := pod.Status.Message
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == evicted && disrupted(pod) == nil &&
		(strings.HasPrefix(m, "Usage of EmptyDir volume ") ||
			strings.HasPrefix(m, "Pod ephemeral local storage usage exceeds the total limit of ") ||
			strings.HasPrefix(m, "Container ") &&
				strings.Contains(m, " exceeded its local ephemeral storage limit "))
}

// endedByKubelet reports whether a pod's own reason says that the kubelet ended or rejected it for the node's
// sake (k8s.io/kubernetes/pkg/kubelet: eviction, nodeshutdown, preemption).
func endedByKubelet(reason string) bool {
	switch reason {
	case evicted, "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated":
		return true
	}
	return rejectedByKubelet(reason)
}

// rejectedByKubelet reports whether a pod's own reason says that its node could not take it although a
// scheduler had chosen it: the node's devices, its resources or its labels are not what they seem, and a
// scheduler would mostly choose it again. Reasons that lie in the pod's own spec, such as SysctlForbidden,
// are failures. (k8s.io/kubernetes v1.37.1, pkg/kubelet: lifecycle/predicate.go, cm/admission,
// cm/topologymanager, cm/cpumanager, volumemanager; pkg/scheduler/framework/plugins names the predicates.)
func rejectedByKubelet(reason string) bool {
	switch reason {
	case "UnexpectedAdmissionError", "TopologyAffinityError", "SMTAlignmentError", "NodeAffinity", "NodePorts",
		"TaintToleration", "InvalidNodeInfo", "UnknownReason", "UnexpectedPredicateFailureType",
		"VolumeAttachmentLimitExceeded":
		return true
	}
	return strings.HasPrefix(reason, "OutOf") // OutOfcpu, OutOfpods, OutOfnvidia.com/gpu
}

// RejectedBy is a node whose kubelet rejected a rank, and the reason that it gave.
type RejectedBy struct{ Node, Reason string }

// RejectedBy are the nodes whose kubelets rejected ranks of the attempt, in rank order.
func (o *Attempt) RejectedBy() []RejectedBy {
	var nodes []RejectedBy
	for i := range o.Ranks {
		pod := o.Ranks[i].LastPod()
		if pod != nil && pod.Status.Phase == corev1.PodFailed && pod.Spec.NodeName != "" &&
			rejectedByKubelet(pod.Status.Reason) {
			nodes = append(nodes, RejectedBy{pod.Spec.NodeName, Line(pod.Status.Reason)})
		}
	}
	return nodes
}
