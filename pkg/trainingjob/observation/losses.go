package observation

import (
	"fmt"
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
		lost = append(lost, Loss{missing[0], v1alpha1.ReasonPodVanished,
			fmt.Sprintf("pod %s is gone and left no trace of why", name)})
	}
	return lost
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
			lost = append(lost, Loss{r.RankRef, disruptionReason(c.Reason), pod.Name + ": " + Line(c.Message)})
		} else if r.Pod != nil && onLostNode(pod, nodes, now) {
			lost = append(lost, Loss{r.RankRef, v1alpha1.ReasonNodeLost,
				fmt.Sprintf("node %s of %s is lost", pod.Spec.NodeName, pod.Name)})
		}
	}
	return lost
}

// onLostNode reports whether the pod was told to end, its grace period is over, and its node does not answer.
// DeletionTimestamp is the end of the grace period.
func onLostNode(pod *corev1.Pod, nodes map[string]NodeState, now time.Time) bool {
	return pod.DeletionTimestamp != nil && !Ended(pod) && !now.Before(pod.DeletionTimestamp.Time) &&
		!nodes[pod.Spec.NodeName].Ready
}

// vanished reports whether ranks that had a pod have none now, although no deletion was seen (the operator
// was away).
//
// Once the gang is placed, the status says how many ranks had one. Before, it need not; but no scheduler
// binds a rank of a gang of which fewer than minAvailable pods exist, so some must have been there. The
// numbers of a spec that has changed since prove nothing: a gang that is to grow has lost no rank.
func vanished(job *v1alpha1.TrainingJob, ranks *Attempt) bool {
	present := ranks.Present()
	if ranks.Placed() > 0 && present < spec.MinAvailable(job) && job.Status.Revision == spec.Revision(job) {
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

// takenAway reports whether somebody else ended this pod while it held a node, and why.
func takenAway(r *Rank, pod *corev1.Pod) (Loss, bool) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded && !r.CutShort {
		return Loss{}, false
	}
	if c := disrupted(pod); c != nil {
		return Loss{r.RankRef, disruptionReason(c.Reason), pod.Name + ": " + Line(c.Message)}, true
	}
	if pod.Status.Phase == corev1.PodFailed && endedByKubelet(pod.Status.Reason) {
		message := fmt.Sprintf("%s: %s: %s", pod.Name, Line(pod.Status.Reason), Line(pod.Status.Message))
		return Loss{r.RankRef, v1alpha1.ReasonEvicted, message}, true
	}
	if pod.DeletionTimestamp != nil {
		message := fmt.Sprintf("pod %s was deleted by somebody else", pod.Name)
		return Loss{r.RankRef, v1alpha1.ReasonPodDeleted, message}, true
	}
	return Loss{}, false
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

// endedByKubelet reports whether a pod's own reason says that the kubelet ended or rejected it for the node's
// sake (k8s.io/kubernetes/pkg/kubelet: eviction, nodeshutdown, preemption, lifecycle/predicate.go).
func endedByKubelet(reason string) bool {
	switch reason {
	case "Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity",
		"UnexpectedAdmissionError":
		return true
	}
	return strings.HasPrefix(reason, "OutOf")
}
