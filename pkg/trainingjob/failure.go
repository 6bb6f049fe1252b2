package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// loss is a rank that did not end by itself.
type loss struct {
	rank    RankRef
	pod     *corev1.Pod // nil where nothing is known of it
	reason  string
	message string
}

// lostRanks are the ranks that a disruption took: preempted, evicted, deleted by others, on a lost node, or gone without a
// trace. Meant for phases in which the operator itself deletes no pod of the attempt that holds a node: there, whoever
// deletes one is somebody else.
func (p *pass) lostRanks() []loss {
	var lost []loss
	var missing []RankRef
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		switch r.state {
		case rankMissing:
			if r.departed == nil {
				missing = append(missing, r.RankRef)
			} else if l, ok := takenAway(r, r.departed); ok {
				lost = append(lost, l)
			}
		case rankEnding, rankFailed:
			if l, ok := takenAway(r, r.pod); ok {
				lost = append(lost, l)
			}
		}
	}
	if n := len(missing); n > 0 && len(lost) == 0 && p.vanished() {
		lost = append(lost, loss{rank: missing[0], reason: v1alpha1.ReasonPodVanished,
			message: fmt.Sprintf("pod %s is gone and left no trace of why", PodName(p.job.Name, missing[0]))})
	}
	return lost
}

// drainEvidence are the signs of a disruption that show while the operator itself deletes pods: deletions say nothing any
// more, but a disruption's mark and a node that lets a pod's deletion hang do.
func (p *pass) drainEvidence() []loss {
	var lost []loss
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		pod := r.pod
		if pod == nil {
			pod = r.departed
		}
		if pod == nil || pod.Spec.NodeName == "" {
			continue
		}
		if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
			lost = append(lost, loss{r.RankRef, pod, disruptionReason(c.Reason), fmt.Sprintf("%s: %s", pod.Name, c.Message)})
		} else if r.pod != nil && p.onLostNode(pod) {
			lost = append(lost, loss{r.RankRef, pod, v1alpha1.ReasonNodeLost,
				fmt.Sprintf("node %s of %s is lost", pod.Spec.NodeName, pod.Name)})
		}
	}
	return lost
}

// onLostNode: the pod was told to end, its grace is over, and its node does not answer. (DeletionTimestamp is the end of
// the grace.)
func (p *pass) onLostNode(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && !Ended(pod) && !p.Now.Before(pod.DeletionTimestamp.Time) &&
		!p.Nodes[pod.Spec.NodeName].Ready
}

// vanished says whether ranks that had a pod have none now, though no deletion was seen (the operator was away).
//
// Once the gang is placed, status says how many ranks had one. Before, it need not: but no scheduler binds a rank of a
// gang of which fewer than minAvailable pods exist, so then some must have been there. (Not by the numbers of a spec that has
// changed since: a gang that is to grow has lost nobody.)
func (p *pass) vanished() bool {
	present := p.obs.present()
	if p.obs.placed() > 0 && present < p.min && p.job.Status.Revision == p.revision {
		return true
	}
	if ph := p.job.Status.Phase; ph != v1alpha1.PhaseStarting && ph != v1alpha1.PhaseRunning {
		return false
	}
	var known int32
	for _, rs := range p.job.Status.ReplicaStatuses {
		known += rs.Active + rs.Succeeded + rs.Failed
	}
	return present < known
}

// takenAway tells whether somebody else ended this pod while it held a node, and who.
func takenAway(r *rank, pod *corev1.Pod) (loss, bool) {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded && !r.cutShort {
		return loss{}, false
	}
	l := loss{rank: r.RankRef, pod: pod}
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		l.reason, l.message = disruptionReason(c.Reason), fmt.Sprintf("%s: %s", pod.Name, c.Message)
		return l, true
	}
	if pod.Status.Phase == corev1.PodFailed && endedByKubelet(pod.Status.Reason) {
		l.reason, l.message = v1alpha1.ReasonEvicted, fmt.Sprintf("%s: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
		return l, true
	}
	if pod.DeletionTimestamp != nil {
		l.reason, l.message = v1alpha1.ReasonPodDeleted, fmt.Sprintf("pod %s was deleted by somebody else", pod.Name)
		return l, true
	}
	return l, false
}

// disruptionReason groups the reasons of the DisruptionTarget condition (k8s.io/api/core/v1, "PodDisruptionConditions").
func disruptionReason(reason string) string {
	switch reason {
	case corev1.PodReasonPreemptionByScheduler:
		return v1alpha1.ReasonPreempted
	case "DeletionByPodGC", "DeletionByTaintManager":
		return v1alpha1.ReasonNodeLost
	}
	return v1alpha1.ReasonEvicted // EvictionByEvictionAPI, TerminationByKubelet and whatever is to come
}

// endedByKubelet: the pod's own reason where the kubelet ends or refuses a pod for the node's sake
// (k8s.io/kubernetes/pkg/kubelet: eviction, nodeshutdown, preemption, lifecycle/predicate.go).
func endedByKubelet(reason string) bool {
	switch reason {
	case "Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity", "UnexpectedAdmissionError":
		return true
	}
	return strings.HasPrefix(reason, "OutOf")
}

// failure is a rank that ended by itself, without success.
type failure struct {
	rank      RankRef
	pod       *corev1.Pod
	exitCode  *int32
	reason    string
	message   string
	finished  time.Time
	permanent bool
}

// failedRanks are the ranks that failed by themselves, the first to end first: the others are mostly its victims.
func (p *pass) failedRanks() []failure {
	var failed []failure
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		pod := r.pod
		if pod == nil {
			pod = r.departed
		}
		if pod == nil || r.state == rankSucceeded || pod.Status.Phase != corev1.PodFailed {
			continue
		}
		if _, taken := takenAway(r, pod); taken {
			continue
		}
		if p.scope == v1alpha1.ScopeRank && (r.policy == v1alpha1.RestartOnFailure || r.policy == v1alpha1.RestartAlways) {
			continue // the kubelet restarts its containers, so it was the pod that failed: the rank alone is replaced
		}
		f := failureOf(r.RankRef, pod)
		switch r.policy {
		case v1alpha1.RestartNever:
			f.permanent = true
		case v1alpha1.RestartExitCode:
			f.permanent = f.exitCode != nil && *f.exitCode < 128
		}
		failed = append(failed, f)
	}
	slices.SortStableFunc(failed, func(a, b failure) int {
		return cmp.Or(a.finished.Compare(b.finished), 0)
	})
	return failed
}

// failureOf reads what the kubelet says of the container that failed: the trainer's where it is among them.
func failureOf(ref RankRef, pod *corev1.Pod) failure {
	f := failure{rank: ref, pod: pod, reason: pod.Status.Reason, message: pod.Status.Message}
	trainer := trainerOf(&pod.Spec).Name
	statuses := slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
	slices.SortStableFunc(statuses, func(a, b corev1.ContainerStatus) int {
		return cmp.Compare(btoi(b.Name == trainer), btoi(a.Name == trainer))
	})
	for i := range statuses {
		t := statuses[i].State.Terminated
		if t == nil || t.ExitCode == 0 {
			continue
		}
		f.exitCode, f.finished = &t.ExitCode, t.FinishedAt.Time
		f.reason, f.message = t.Reason, cmp.Or(strings.TrimSpace(t.Message), f.message)
		if word, err := checkpoint.ParseTermination([]byte(t.Message)); err == nil {
			f.hear(word)
		}
		break
	}
	return f
}

// hear the agent's last word: the log's end, and how the trainer ended where the kubelet only knows that it did.
func (f *failure) hear(word *checkpoint.Termination) {
	f.message = cmp.Or(strings.TrimSpace(word.Log), word.Problem)
	if f.reason != "Error" {
		return
	}
	switch word.Reason {
	case checkpoint.ExitStartFailed, checkpoint.ExitGraceExceeded:
		f.reason = string(word.Reason)
	case checkpoint.ExitSignaled:
		f.reason = word.Signal
	}
}

func (f failure) status(attempt int32, now time.Time) *v1alpha1.FailureStatus {
	t := metav1.NewTime(cmp.Or(f.finished, now).Truncate(time.Second))
	return &v1alpha1.FailureStatus{
		Role: f.rank.Role, Index: f.rank.Index, PodName: f.pod.Name, Attempt: attempt, Node: f.pod.Spec.NodeName,
		ExitCode: f.exitCode, Reason: f.reason, Message: tail(f.message, 2048), Time: &t,
	}
}

// String is one sentence: what ended, how.
func (f failure) String() string {
	switch {
	case f.exitCode != nil && f.reason != "" && f.reason != "Error":
		return fmt.Sprintf("%s exited with code %d (%s)", f.pod.Name, *f.exitCode, f.reason)
	case f.exitCode != nil:
		return fmt.Sprintf("%s exited with code %d", f.pod.Name, *f.exitCode)
	case f.reason != "":
		return fmt.Sprintf("%s failed: %s", f.pod.Name, f.reason)
	}
	return f.pod.Name + " failed with an unknown exit code"
}

// containerRestarts sums what the kubelet restarted in this attempt, but for roles that are meant to be restarted always.
func (p *pass) containerRestarts() int32 {
	var n int32
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		if r.pod == nil || r.policy == v1alpha1.RestartAlways {
			continue
		}
		n += restartCount(r.pod)
	}
	return n
}

func restartCount(pod *corev1.Pod) int32 {
	var n int32
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// trainerOf is the container that trains: the first with a known name, else the first.
func trainerOf(spec *corev1.PodSpec) *corev1.Container {
	for _, name := range []string{TrainerContainer, "pytorch"} {
		for i := range spec.Containers {
			if spec.Containers[i].Name == name {
				return &spec.Containers[i]
			}
		}
	}
	if len(spec.Containers) == 0 {
		return &corev1.Container{}
	}
	return &spec.Containers[0]
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
