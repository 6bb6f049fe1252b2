package observation

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// recoveryTime is how long before and after a rank was created again, or started again, restarts of
// containers are taken for consequences of its loss. Peers detect a loss when a collective operation or the
// rendezvous times out (10 minutes for NCCL in PyTorch 2).
const recoveryTime = 10 * time.Minute

// RestartCount returns how often the kubelet restarted containers of a pod that must run or complete for the
// trainer to train: the trainer, and init containers that are no sidecars.
func RestartCount(pod *corev1.Pod, trainer string) int32 {
	var n int32
	for s := range neededContainers(pod, trainer) {
		n += s.RestartCount
	}
	return n
}

// neededContainers yields the statuses of the containers whose restarts count (see RestartCount).
func neededContainers(pod *corev1.Pod, trainer string) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for i := range pod.Status.InitContainerStatuses {
			if s := &pod.Status.InitContainerStatuses[i]; !isNativeSidecar(pod, s.Name) && !yield(s) {
				return
			}
		}
		for i := range pod.Status.ContainerStatuses {
			if s := &pod.Status.ContainerStatuses[i]; s.Name == trainer && !yield(s) {
				return
			}
		}
	}
}

// isNativeSidecar reports whether an init container is always restarted, beside the trainer.
func isNativeSidecar(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == container && c.RestartPolicy != nil &&
			*c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

// RankRestarts returns how often the kubelet restarted containers in this attempt under scope Rank, without
// roles that are always restarted. A replaced rank starts again at zero.
func (o *Observation) RankRestarts() int32 {
	if o.Scope != v1alpha1.ScopeRank || len(o.Pods) == 0 {
		return o.Job.Status.RankRestarts
	}
	return o.ContainerRestarts()
}

// ContainerRestarts sums the kubelet's restarts in this attempt, without roles that are always restarted. In
// an elastic gang a failure breaks all ranks, so only the rank with the most restarts counts.
func (o *Observation) ContainerRestarts() int32 {
	var total int32
	for i := range o.Ranks {
		r := &o.Attempt.Ranks[i]
		if !countsRestarts(r) {
			continue
		}
		if n := RestartCount(r.Pod, r.Trainer); o.Elastic {
			total = max(total, n)
		} else {
			total += n
		}
	}
	return total
}

// Restarts returns the number of spent restarts: those in the status, and the kubelet's since then, unless a
// disruption caused the last of them. It never falls when a rank is replaced.
func (o *Observation) Restarts() int32 {
	n := o.RankRestarts() - o.Job.Status.RankRestarts
	if n <= 0 || o.disruptionRestarted() {
		return o.Job.Status.Restarts
	}
	return o.Job.Status.Restarts + n
}

// countsRestarts reports whether restarts of the rank's containers count.
func countsRestarts(r *Rank) bool { return r.Pod != nil && r.Policy != v1alpha1.RestartAlways }

// disruptionRestarted reports whether a disruption caused the last restart of a container in the attempt: it
// is close to the restart of a node, after which the ends of its containers are not known, or to the loss of
// a rank.
func (o *Observation) disruptionRestarted() bool {
	var last time.Time
	var nodes []time.Time
	for i := range o.Ranks {
		r := &o.Attempt.Ranks[i]
		if !countsRestarts(r) {
			continue
		}
		for s := range neededContainers(r.Pod, r.Trainer) {
			ended := s.LastTerminationState.Terminated
			if ended == nil || s.RestartCount == 0 {
				continue
			}
			at := ended.FinishedAt.Time
			if isUnobserved(ended) {
				at = lastStart(s)
				nodes = append(nodes, at)
			}
			if at.After(last) {
				last = at
			}
		}
	}
	return slices.ContainsFunc(nodes, func(t time.Time) bool { return near(last, t) }) || o.lostRankNear(last)
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= recoveryTime }

// lostRankNear reports whether the gang of a running job lacks a rank that it had, or got one back within
// recoveryTime of a time.
func (o *Observation) lostRankNear(at time.Time) bool {
	if o.Job.Status.Phase != v1alpha1.PhaseRunning {
		return false
	}
	for i := range o.Ranks {
		r := &o.Attempt.Ranks[i]
		switch {
		case r.State == RankSucceeded:
			continue
		case r.Pod == nil && i > 0 && o.heldBackLongBefore(at):
			continue
		case r.Pod == nil, r.State == RankEnding, r.State == RankFailed:
			return true
		}
		node := r.Pod.Spec.NodeName
		if node != "" && !o.Nodes[node].Ready {
			return true
		}
		if !r.Pod.CreationTimestamp.After(o.PhaseSince()) {
			continue // it is as old as the gang
		}
		start := Started(r.Pod, r.Trainer)
		if start == nil && i == 0 {
			return true // the rendezvous is at rank 0
		}
		if near(at, r.Pod.CreationTimestamp.Time) || start != nil && near(at, start.Time) {
			return true
		}
	}
	return false
}

// heldBackLongBefore reports whether the API server rejects the missing pods, for example because of a quota,
// and the status reported that longer than recoveryTime before a time. The gang can lack ranks for days then.
func (o *Observation) heldBackLongBefore(at time.Time) bool {
	s := o.Job.Status.Scheduling
	return o.CreateBackoff != nil && s != nil && s.Blocker != nil && s.Blocker.ObservedTime != nil &&
		!near(at, s.Blocker.ObservedTime.Time)
}
