package trainingjob

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// rankState is where one rank of the current attempt is.
type rankState int

const (
	rankMissing   rankState = iota // it has no pod
	rankPending                    // its pod is not bound to a node
	rankBound                      // bound, not running yet
	rankRunning                    // running
	rankEnding                     // its pod is being deleted and has not ended
	rankSucceeded                  // ended with success, possibly remembered from status
	rankFailed                     // ended without success
)

// rank is one rank of the current attempt as it is seen now.
type rank struct {
	RankRef
	policy v1alpha1.RestartPolicy
	state  rankState
	// pod is nil while missing; departed is the pod as it last was, where that is known.
	pod, departed *corev1.Pod
	// cutShort: it exited 0 because it was told to end, and did not say that it was through.
	cutShort bool
}

// observation is what the pods say. Pure counting: what it means is for the machine.
type observation struct {
	roles []Role
	ranks []rank
	// stale pods belong to another attempt, or to a rank that the spec no longer has: they must be gone before anything is
	// created.
	stale []*corev1.Pod
	// live pods, of whatever attempt, have not ended yet.
	live []*corev1.Pod
	// changed is the latest time at which a pod says that something about it changed; zero without pods.
	changed time.Time
}

// observe sorts a job's pods by the ranks of its current attempt.
func observe(s Snapshot) observation {
	cooperates := Checkpoints(s.Job) != nil
	o := observation{roles: admittedRoles(Roles(s.Job), s.Verdict.Admitted)}
	attempt := strconv.Itoa(int(s.Job.Status.Attempt))
	byName := make(map[string]*corev1.Pod, len(s.Pods))
	for _, pod := range s.Pods {
		byName[pod.Name] = pod
		if !Ended(pod) {
			o.live = append(o.live, pod)
		}
		if t := lastChange(pod); t.After(o.changed) {
			o.changed = t
		}
	}
	departed := make(map[string]*corev1.Pod, len(s.Departed))
	for _, pod := range s.Departed {
		if pod.Labels[v1alpha1.LabelAttempt] == attempt {
			departed[pod.Name] = pod
		}
	}
	o.ranks = make([]rank, 0, ranksOf(o.roles))
	for _, role := range o.roles {
		done := parseRanges(s.Job.Status.ReplicaStatuses[role.Name].SucceededIndexes)
		for i := range role.Replicas {
			r := rank{RankRef: RankRef{role.Name, i}, policy: role.RestartPolicy}
			name := PodName(s.Job.Name, r.RankRef)
			if pod := byName[name]; pod != nil && pod.Labels[v1alpha1.LabelAttempt] == attempt {
				r.pod = pod
				delete(byName, name)
			} else {
				r.departed = departed[name]
			}
			r.state = stateOf(r, done.has(i))
			if r.state == rankSucceeded && cooperates && !done.has(i) {
				r.cut()
			}
			o.ranks = append(o.ranks, r)
		}
	}
	for _, pod := range s.Pods { // what no rank has claimed, in the order given
		if byName[pod.Name] == pod {
			o.stale = append(o.stale, pod)
		}
	}
	return o
}

func stateOf(r rank, remembered bool) rankState {
	switch pod := r.pod; {
	case remembered, pod == nil && r.departed != nil && r.departed.Status.Phase == corev1.PodSucceeded:
		return rankSucceeded
	case pod == nil:
		return rankMissing
	case pod.Status.Phase == corev1.PodSucceeded:
		return rankSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		return rankFailed
	case pod.DeletionTimestamp != nil:
		return rankEnding
	case pod.Status.Phase == corev1.PodRunning:
		return rankRunning
	case pod.Spec.NodeName != "":
		return rankBound
	}
	return rankPending
}

// cut takes the success from a rank that saved and left because it was told to: an exit code 0 alone says no more than that. What the
// trainer says of itself does.
func (r *rank) cut() {
	pod, state := r.pod, rankFailed
	if pod == nil {
		pod, state = r.departed, rankMissing
	}
	if saidCompleted(pod) || !toldToEnd(pod) {
		return
	}
	r.state, r.cutShort = state, true
}

func saidCompleted(pod *corev1.Pod) bool {
	for _, t := range terminations(pod) {
		if word, err := checkpoint.ParseTermination([]byte(t.Message)); err == nil && word.Phase == checkpoint.PhaseCompleted {
			return true
		}
	}
	return false
}

// toldToEnd says whether a pod that has ended was asked to before it did.
func toldToEnd(pod *corev1.Pod) bool {
	var last time.Time
	for _, t := range terminations(pod) {
		if t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(last) {
		return true
	}
	if pod.DeletionTimestamp == nil {
		return false
	}
	asked := pod.DeletionTimestamp.Time // the end of its grace
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		asked = asked.Add(-time.Duration(*g) * time.Second)
	}
	return !asked.After(last)
}

// count ranks in any of the given states.
func (o *observation) count(states ...rankState) int32 {
	var n int32
	for i := range o.ranks {
		if slices.Contains(states, o.ranks[i].state) {
			n++
		}
	}
	return n
}

// placed ranks hold a node and are there to stay, or have done their part.
func (o *observation) placed() int32 { return o.count(rankBound, rankRunning, rankSucceeded) }

// up ranks run or have done their part.
func (o *observation) up() int32 { return o.count(rankRunning, rankSucceeded) }

// present ranks have a pod, in whatever state, or have done their part.
func (o *observation) present() int32 { return int32(len(o.ranks)) - o.count(rankMissing) }

// Ended says whether a pod's containers are through: it holds no resources any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ready(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func lastChange(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for i := range pod.Status.Conditions {
		later(pod.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range pod.Status.ContainerStatuses {
		switch st := pod.Status.ContainerStatuses[i].State; {
		case st.Running != nil:
			later(st.Running.StartedAt.Time)
		case st.Terminated != nil:
			later(st.Terminated.FinishedAt.Time)
		}
	}
	return last
}
