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

// Loss is a rank that a disruption took.
type Loss struct {
	Rank            spec.RankRef
	Reason, Message string
	// requested is when its deletion was requested, if nothing else is known of the cause; else zero.
	requested time.Time
}

// causes removes deletions after the first failure: they did not cause it. A DisruptionTarget condition and a
// lost node always stay, since a lost node is detected long after the ranks that it breaks have ended.
func causes(lost []Loss, failed []Failure) []Loss {
	if len(failed) == 0 {
		return lost
	}
	late := failed[0].Finished.Add(clockMargin)
	return slices.DeleteFunc(lost, func(l Loss) bool { return !l.requested.IsZero() && l.requested.After(late) })
}

// lostRanks returns the ranks that a disruption took: preempted, evicted, deleted by others, on a lost node,
// or vanished. It is for phases in which the operator deletes no pod of the attempt that holds a node, so
// that every such deletion is by another client.
func lostRanks(job *v1alpha1.TrainingJob, ranks *Attempt) []Loss {
	var lost []Loss
	var missing []spec.RankRef
	for i := range ranks.Ranks {
		r := &ranks.Ranks[i]
		switch r.State {
		case RankMissing:
			if r.Departed == nil {
				missing = append(missing, r.RankRef)
			} else if l, ok := takenAway(r); ok {
				lost = append(lost, l)
			}
		case RankEnding, RankFailed:
			if l, ok := takenAway(r); ok {
				lost = append(lost, l)
			}
		}
	}
	if len(missing) > 0 && len(lost) == 0 && vanished(job, ranks) {
		name := spec.PodName(job.Name, missing[0])
		lost = append(lost, Loss{Rank: missing[0], Reason: v1alpha1.ReasonPodVanished,
			Message: fmt.Sprintf("pod %s vanished for an unknown reason", name)})
	}
	if r, ok := replaced(job, ranks); ok && len(lost) == 0 {
		name := spec.PodName(job.Name, r)
		lost = append(lost, Loss{Rank: r, Reason: v1alpha1.ReasonPodVanished,
			Message: fmt.Sprintf("pod %s waits for a node while the gang runs: its rank's former pod was deleted",
				name)})
	}
	return lost
}

// replaced returns a rank that waits for a node although all ranks were placed: an operator that did not
// observe the running gang created a second pod. In scope Rank this is normal; in scope Gang the others run
// or end without it, and it waits for ever.
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

// lostWhileDraining returns the losses that are visible while the operator deletes pods: DisruptionTarget
// conditions, and nodes on which a deletion hangs. Deletions prove nothing then.
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

// onLostNode reports whether the pod was deleted, its grace period is over, and its node does not answer.
// DeletionTimestamp is the end of the grace period.
func onLostNode(pod *corev1.Pod, nodes map[string]NodeState, now time.Time) bool {
	return pod.DeletionTimestamp != nil && !Ended(pod) && !now.Before(pod.DeletionTimestamp.Time) &&
		pod.Spec.NodeName != "" && !nodes[pod.Spec.NodeName].Ready
}

// hangMargin is how long after its grace period a deleted pod may still exist: the kubelet has killed its
// processes by then, and unmounts its volumes.
const hangMargin = 2 * time.Minute

// HangsAt returns when a pod that is being deleted on a node that answers has taken too long: a process hangs
// in a driver or in storage, or a finalizer holds the pod. It returns false for other pods.
func (o *Observation) HangsAt(pod *corev1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil || !o.Nodes[pod.Spec.NodeName].Ready {
		return time.Time{}, false
	}
	return pod.DeletionTimestamp.Add(hangMargin), true
}

// Hangs reports whether a pod has taken too long to be deleted (see HangsAt).
func (o *Observation) Hangs(pod *corev1.Pod) bool {
	at, ok := o.HangsAt(pod)
	return ok && !o.Now.Before(at)
}

// vanished reports whether ranks that had a pod have none now, without an observed deletion (the operator was
// down).
//
// Once the gang is placed, the status has the number of pods. Before, a bound pod proves that at least
// minAvailable pods existed, since no scheduler binds a rank of a smaller gang. This also holds if the bound
// ranks have failed since: the missing peer is the cause. If the spec has changed, its numbers prove nothing:
// a gang that grows has lost no rank.
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

// takenAway reports whether another client or the node stopped a rank's last pod while it held a node, and
// why. A rank that failed by itself and was deleted later was not taken, nor was one that exceeded its own
// limits. A trainer whose end was not observed was taken: its node restarted.
func takenAway(r *Rank) (Loss, bool) {
	pod, phase := r.LastPod(), r.Phase()
	if pod.Spec.NodeName == "" || phase == corev1.PodSucceeded && !r.CutShort {
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
	if reason, ok := unobservedEnd(pod, r.Trainer); ok && phase == corev1.PodFailed {
		message := fmt.Sprintf("%s: the end of its trainer was not observed (%s), so node %s may have restarted",
			pod.Name, reason, pod.Spec.NodeName)
		return Loss{Rank: r.RankRef, Reason: v1alpha1.ReasonNodeLost, Message: message}, true
	}
	ended := phase == corev1.PodSucceeded || phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil && (!ended || stopRequested(pod, r.Trainer)) {
		message := fmt.Sprintf("pod %s was deleted by another client", pod.Name)
		at, _ := deletionRequested(pod)
		return Loss{Rank: r.RankRef, Reason: v1alpha1.ReasonPodDeleted, Message: message, requested: at}, true
	}
	return Loss{}, false
}

// markedLoss returns the loss of a rank whose pod has a DisruptionTarget condition.
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

// evicted is the kubelet's reason for a pod that its eviction manager stops or rejects
// (k8s.io/kubernetes/pkg/kubelet/eviction).
const evicted = "Evicted"

// brokeOwnLimit reports whether the kubelet evicted a pod because it exceeded its own limits of local
// storage: in total, in a container, or in an emptyDir. Then, unlike under pressure on the node, the pod has
// no DisruptionTarget condition. Without such conditions only the message distinguishes the two
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

// unobservedEnd returns the reason in the status of a container that ended while nothing watched it.
func unobservedEnd(pod *corev1.Pod, container string) (reason string, ok bool) {
	for _, s := range pod.Status.ContainerStatuses {
		if t := s.State.Terminated; s.Name == container && t != nil {
			return t.Reason, isUnobserved(t)
		}
	}
	return "", false
}

// isUnobserved reports whether nothing watched the end of a container. Its exit code is invented: 137 by the
// kubelet if the runtime does not know the container any more (k8s.io/kubernetes/pkg/kubelet/container,
// ContainerReasonStatusUnknown), 255 by containerd if it finds no task for it (internal/cri/server,
// unknownExitReason).
func isUnobserved(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "ContainerStatusUnknown" || t.Reason == "Unknown" && t.ExitCode == 255
}

// endedByKubelet reports whether a pod's reason is that the kubelet stopped or rejected it because of the
// node (k8s.io/kubernetes/pkg/kubelet: eviction, nodeshutdown, preemption).
func endedByKubelet(reason string) bool {
	switch reason {
	case evicted, "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated":
		return true
	}
	return rejectedByKubelet(reason)
}

// rejectedByKubelet reports whether a pod's reason is that its node rejected it after a scheduler chose it:
// the node's devices, resources or labels differ from the scheduler's view, and a scheduler would likely
// choose it again. Reasons in the pod's own spec, such as SysctlForbidden, are failures. (k8s.io/kubernetes
// v1.37.1, pkg/kubelet: lifecycle/predicate.go, cm/admission, cm/topologymanager, cm/cpumanager,
// volumemanager; pkg/scheduler/framework/plugins names the predicates.)
func rejectedByKubelet(reason string) bool {
	switch reason {
	case "UnexpectedAdmissionError", "TopologyAffinityError", "SMTAlignmentError", "NodeAffinity", "NodePorts",
		"TaintToleration", "InvalidNodeInfo", "UnknownReason", "UnexpectedPredicateFailureType",
		"VolumeAttachmentLimitExceeded":
		return true
	}
	return strings.HasPrefix(reason, "OutOf") // OutOfcpu, OutOfpods, OutOfnvidia.com/gpu
}

// RejectedBy is a node whose kubelet rejected a rank, the reason, and when.
type RejectedBy struct {
	Node, Reason, Message string
	Time                  time.Time
}

// RejectedBy returns the node whose kubelet rejected the rank; false if none did.
func (r *Rank) RejectedBy() (RejectedBy, bool) {
	pod := r.LastPod()
	if pod == nil || pod.Status.Phase != corev1.PodFailed || pod.Spec.NodeName == "" ||
		!rejectedByKubelet(pod.Status.Reason) {
		return RejectedBy{}, false
	}
	return RejectedBy{
		Node: pod.Spec.NodeName, Reason: Line(pod.Status.Reason), Message: sentence(pod.Status.Message),
		Time: lastChange(pod),
	}, true
}

// RejectedBy returns the nodes whose kubelets rejected ranks of the attempt, in rank order.
func (o *Attempt) RejectedBy() []RejectedBy {
	var nodes []RejectedBy
	for i := range o.Ranks {
		if by, rejected := o.Ranks[i].RejectedBy(); rejected {
			nodes = append(nodes, by)
		}
	}
	return nodes
}
