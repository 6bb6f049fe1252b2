package observation

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// RankState is the state of one rank of the current attempt.
type RankState int

// The states of a rank.
const (
	RankMissing   RankState = iota // it has no pod
	RankPending                    // its pod is not bound to a node
	RankBound                      // bound, not running yet
	RankRunning                    // running
	RankEnding                     // its pod is being deleted and has not ended
	RankSucceeded                  // ended with success, possibly remembered from the status
	RankFailed                     // ended without success
)

// Rank is one rank of the current attempt.
type Rank struct {
	spec.RankRef
	Policy v1alpha1.RestartPolicy
	State  RankState
	// Trainer is the name of the container whose end is the rank's end.
	Trainer string
	// Pod is nil while the rank has none. Departed is the last state of its deleted pod, if known.
	Pod, Departed *corev1.Pod
	// CutShort: it exited 0 after a stop was requested (see stopRequested), and rank 0 did not report that
	// every step is trained.
	CutShort bool
	// Remembered: the status lists the rank as succeeded, so its pod is no longer needed.
	Remembered bool
}

// LastPod returns the rank's pod, or its departed pod; nil if neither is known.
func (r *Rank) LastPod() *corev1.Pod {
	if r.Pod != nil {
		return r.Pod
	}
	return r.Departed
}

// PlacedAt returns when the rank's pod got its node; zero if it has none or the time is not known.
func (r *Rank) PlacedAt() time.Time {
	if r.Pod != nil {
		if c := condition(r.Pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Addressed reports whether the rank has an address at which its peers reach it.
func (r *Rank) Addressed() bool {
	return r.Pod != nil && r.State != RankFailed && len(r.Pod.Status.PodIPs) > 0
}

// Attempt is the current attempt as observed: its ranks in rank order, and the job's other pods.
type Attempt struct {
	Roles []spec.Role
	// Elastic: the gang trains with the ranks that it has.
	Elastic bool
	// Success is the policy for which ranks decide the job's success.
	Success v1alpha1.SuccessPolicy
	Ranks   []Rank
	// Stale pods belong to another attempt, or to a rank that the spec no longer has. They must be deleted
	// before anything is created.
	Stale []*corev1.Pod
	// Live pods, of any attempt, have not ended yet.
	Live []*corev1.Pod
}

// attemptOf sorts a job's pods by the ranks of its current attempt.
func attemptOf(s *Snapshot) Attempt {
	cooperates := spec.Checkpoints(s.Job) != nil
	o := Attempt{
		Roles:   spec.Admitted(spec.Roles(s.Job), s.Verdict.Admitted),
		Elastic: spec.Elastic(s.Job), Success: s.Job.Spec.SuccessPolicy,
		Live: livePods(s.Pods),
	}
	attempt := strconv.Itoa(int(s.Job.Status.Attempt))
	unclaimed := make(map[string]*corev1.Pod, len(s.Pods))
	for _, pod := range s.Pods {
		unclaimed[pod.Name] = pod
	}
	departed := make(map[string]*corev1.Pod, len(s.Departed))
	for _, pod := range s.Departed {
		if pod.Labels[v1alpha1.LabelAttempt] == attempt {
			departed[pod.Name] = pod // of several the last
		}
	}
	o.Ranks = make([]Rank, 0, spec.RanksOf(o.Roles))
	reporter, _ := spec.Reporter(o.Roles)
	fw := spec.Framework(s.Job)
	for _, role := range o.Roles {
		done := spec.ParseIndexes(s.Job.Status.ReplicaStatuses[role.Name].SucceededIndexes)
		trainer := fw.Trainer(&role.Template.Spec).Name
		for i := range role.Replicas {
			r := Rank{RankRef: spec.RankRef{Role: role.Name, Index: i}, Policy: role.RestartPolicy}
			name := spec.PodName(s.Job.Name, r.RankRef)
			if pod := unclaimed[name]; pod != nil && pod.Labels[v1alpha1.LabelAttempt] == attempt {
				r.Pod = pod
				delete(unclaimed, name)
			} else {
				r.Departed = departed[name]
			}
			r.Trainer, r.Remembered = trainerOf(fw, trainer, r.LastPod()), done.Has(i)
			r.State = stateOf(&r)
			if r.State == RankSucceeded && !r.Remembered {
				r.checkCutShort(cooperates && r.RankRef == reporter)
			}
			o.Ranks = append(o.Ranks, r)
		}
	}
	for _, pod := range s.Pods { // in the order given
		if unclaimed[pod.Name] == pod {
			o.Stale = append(o.Stale, pod)
		}
	}
	return o
}

func livePods(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), Ended)
}

func stateOf(r *Rank) RankState {
	switch pod, phase := r.Pod, r.Phase(); {
	case r.Remembered, phase == corev1.PodSucceeded:
		return RankSucceeded
	case pod == nil:
		return RankMissing
	case phase == corev1.PodFailed:
		return RankFailed
	case pod.DeletionTimestamp != nil:
		return RankEnding
	case phase == corev1.PodRunning:
		return RankRunning
	case pod.Spec.NodeName != "":
		return RankBound
	}
	return RankPending
}

// checkCutShort marks a rank that exited 0 because it was stopped, which is no success. The exception is a
// rank that reports (believed) and whose agent reported that every step is trained.
func (r *Rank) checkCutShort(believed bool) {
	if pod := r.LastPod(); !stopRequested(pod, r.Trainer) || believed && reportedCompleted(pod) {
		return
	}
	r.State, r.CutShort = RankFailed, true
	if r.Pod == nil {
		r.State = RankMissing
	}
}

func reportedCompleted(pod *corev1.Pod) bool {
	for _, t := range terminations(pod) {
		message, err := checkpoint.ParseTermination([]byte(t.Message))
		if err == nil && message.Phase == checkpoint.PhaseCompleted {
			return true
		}
	}
	return false
}

// Reporter returns the rank that reports for the gang (see spec.Reporter); nil for an attempt without ranks.
func (o *Attempt) Reporter() *Rank {
	if len(o.Roles) == 0 {
		return nil
	}
	if _, i := spec.Reporter(o.Roles); int(i) < len(o.Ranks) {
		return &o.Ranks[i]
	}
	return nil
}

// Count returns the number of ranks in any of the given states.
func (o *Attempt) Count(states ...RankState) int32 {
	var n int32
	for i := range o.Ranks {
		if slices.Contains(states, o.Ranks[i].State) {
			n++
		}
	}
	return n
}

// Total is the number of ranks of the attempt.
func (o *Attempt) Total() int32 { return int32(len(o.Ranks)) }

// Placed ranks hold a node and are there to stay, or have succeeded.
func (o *Attempt) Placed() int32 { return o.Count(RankBound, RankRunning, RankSucceeded) }

// everBound reports whether a rank has had a node, whatever has become of it.
func (o *Attempt) everBound() bool {
	return slices.ContainsFunc(o.Ranks, func(r Rank) bool {
		pod := r.LastPod()
		return pod != nil && pod.Spec.NodeName != ""
	})
}

// Up ranks run or have succeeded.
func (o *Attempt) Up() int32 { return o.Count(RankRunning, RankSucceeded) }

// Present ranks have a pod, in whatever state, or have succeeded.
func (o *Attempt) Present() int32 { return o.Total() - o.Count(RankMissing) }

// Succeeded reports whether every rank that decides the job's success has succeeded (see spec.Decides).
func (o *Attempt) Succeeded() bool {
	decides, decided := spec.Decides(o.Success, o.Roles, o.Elastic), false
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if !decides(r.RankRef) {
			continue
		}
		if r.State != RankSucceeded {
			return false
		}
		decided = true
	}
	return decided
}
