package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Rules that every history must obey.
type Rules struct {
	// Capacity of the nodes in GPUs.
	Capacity map[string]int64
	// Backend that reads the groups.
	Backend scheduler.Backend
	// ClusterObjects are what the backend reads of the cluster besides its groups (scheduler.Traits).
	ClusterObjects []client.Object
	// Races is how long pods can still be created after the scheduler has withdrawn its invitation, or after the
	// last pod of an attempt was deleted: the request was sent before the watch reported the change. Only chaos
	// has such races.
	Races time.Duration
}

// Violations of the invariants that hold at every moment of every scenario, in the order in which they
// happened:
//
//   - a pod is created only in a phase and for an attempt that is persisted;
//   - no pod is created while a pod of another attempt of the job lives;
//   - the first pod of an attempt is created only after the scheduler has requested it;
//   - a pod is given the persisted resume point, so all ranks of an attempt are given the same one;
//   - a pod that searches a volume is created only while its job drains, when no rank lives;
//   - the GPUs of a node are never allocated twice;
//   - a suspended job has no pod that lives, a finished one is finished for good, attempts only go up;
//   - a job without checkpoints succeeds only by ranks that succeed before they are stopped.
func (r Rules) Violations(h History) []string {
	c := &checker{
		Rules: r, jobs: map[types.UID]*v1alpha1.TrainingJob{}, pods: map[types.UID]*corev1.Pod{},
		groups: map[types.UID]client.Object{},
		past:   map[types.UID][]pastGroup{}, endedWell: map[jobAttempt]int32{},
		lastGone: map[jobAttempt]time.Time{},
	}
	for _, e := range h.InOrder() {
		c.observe(e)
	}
	return c.found
}

// checker replays a history and knows which objects exist at each moment.
type checker struct {
	Rules
	jobs   map[types.UID]*v1alpha1.TrainingJob
	pods   map[types.UID]*corev1.Pod
	groups map[types.UID]client.Object
	// past are the states of groups that another state has replaced.
	past map[types.UID][]pastGroup
	// endedWell counts, by job and attempt, the pods that succeeded before they were stopped.
	endedWell map[jobAttempt]int32
	// lastGone is when the latest pod of an attempt went.
	lastGone map[jobAttempt]time.Time
	now      time.Time
	found    []string
}

type jobAttempt struct {
	job     types.UID
	attempt int32
}

type pastGroup struct {
	group client.Object
	until time.Time
}

func (c *checker) observe(e Entry) {
	c.now = e.At
	switch o := e.Object.(type) {
	case nil:
	case *v1alpha1.TrainingJob:
		if e.Gone {
			delete(c.jobs, o.UID)
			return
		}
		c.checkJob(c.jobs[o.UID], o)
		c.jobs[o.UID] = o
	case *corev1.Pod:
		if e.Gone {
			delete(c.pods, o.UID)
			c.lastGone[jobAttempt{JobOf(o), AttemptOf(o)}] = e.At
			return
		}
		before, known := c.pods[o.UID]
		if !known {
			c.checkCreation(o)
		}
		c.pods[o.UID] = o
		if endedWell(o) && (!known || !endedWell(before)) {
			c.endedWell[jobAttempt{JobOf(o), AttemptOf(o)}]++
		}
		if o.Spec.NodeName != "" && (!known || before.Spec.NodeName == "") {
			c.checkBinding(o)
		}
	default:
		if before, known := c.groups[o.GetUID()]; known && c.Races > 0 {
			c.past[o.GetUID()] = append(c.past[o.GetUID()], pastGroup{before, e.At})
		}
		if e.Gone {
			delete(c.groups, o.GetUID())
			return
		}
		c.groups[o.GetUID()] = o
	}
}

func (c *checker) violation(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *checker) checkJob(before, now *v1alpha1.TrainingJob) {
	if before != nil {
		if p := before.Status.Phase; p.Finished() && now.Status.Phase != p {
			c.violation("job %s was %s and is %s: a final phase is not final", now.Name, p, now.Status.Phase)
		}
		if now.Status.Attempt < before.Status.Attempt {
			c.violation("job %s falls back from attempt %d to %d", now.Name, before.Status.Attempt, now.Status.Attempt)
		}
	}
	if before != nil && !before.Status.Phase.Finished() && now.Status.Phase == v1alpha1.PhaseSucceeded {
		c.checkSuccess(now)
	}
	if now.Status.Phase == v1alpha1.PhaseSuspended {
		for _, pod := range c.podsOf(now.UID) {
			if Live(pod) {
				c.violation("job %s is Suspended while pod %s lives", now.Name, pod.Name)
			}
		}
	}
}

// checkSuccess checks a success that no checkpoint proves.
func (c *checker) checkSuccess(job *v1alpha1.TrainingJob) {
	gang := render.Gang(job, job.Status.Attempt, false)
	if job.Spec.Checkpoint != nil || len(gang.Roles) != 1 { // of several roles one may decide alone
		return
	}
	if n := c.endedWell[jobAttempt{job.UID, job.Status.Attempt}]; n < gang.MinAvailable {
		c.violation("job %s is Succeeded, and only %d of %d ranks of attempt %d succeeded before they were stopped",
			job.Name, n, gang.MinAvailable, job.Status.Attempt)
	}
}

// endedWell reports whether a pod has succeeded by itself.
func endedWell(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded && !beingEnded(pod)
}

// beingEnded reports whether a pod is being stopped, or is about to be.
func beingEnded(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		})
}

// checkCreation checks everything that must be true before a pod is created.
func (c *checker) checkCreation(pod *corev1.Pod) {
	uid, attempt := JobOf(pod), AttemptOf(pod)
	job := c.jobs[uid]
	if job == nil {
		return // its job has just been deleted; the garbage collector takes the pod
	}
	if render.IsResolver(pod) {
		c.checkResolver(job, pod)
		return
	}
	switch job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
	default:
		c.violation("pod %s is created while job %s is %s", pod.Name, job.Name,
			cmp.Or(string(job.Status.Phase), "new"))
	}
	if job.Status.Attempt != attempt {
		c.violation("pod %s is created for attempt %d while attempt %d is persisted", pod.Name, attempt,
			job.Status.Attempt)
	}
	// Under scope Rank a commit may be persisted while the pod is created.
	gang := spec.Scope(job) == v1alpha1.ScopeGang
	if from, ok := ResumeOf(pod); ok && gang && from != ResumePath(job) {
		c.violation("pod %s is given %q to resume from while %q is persisted", pod.Name, from, ResumePath(job))
	}
	first := true
	for _, other := range c.podsOf(uid) {
		switch a := AttemptOf(other); {
		case a == attempt:
			first = false
		case Live(other):
			c.violation("pod %s of attempt %d is created while pod %s of attempt %d lives", pod.Name, attempt,
				other.Name, a)
		}
	}
	if first && c.Backend != nil {
		c.checkFirst(job, pod, attempt)
	}
}

// checkResolver checks the creation of a pod that searches for the resume point. A live rank could save a
// checkpoint that the search misses.
func (c *checker) checkResolver(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if job.Status.Phase != v1alpha1.PhaseDraining || job.Status.Attempt != AttemptOf(pod) {
		c.violation("pod %s searches for attempt %d while job %s is %s, attempt %d", pod.Name, AttemptOf(pod),
			job.Name, job.Status.Phase, job.Status.Attempt)
	}
	for _, rank := range c.podsOf(job.UID) {
		if Live(rank) {
			c.violation("pod %s searches while pod %s of attempt %d lives", pod.Name, rank.Name, AttemptOf(rank))
		}
	}
}

// checkFirst checks that the scheduler has asked for the first pod of an attempt. Later pods need no
// permission, and the check is void for a dialect that never holds.
func (c *checker) checkFirst(job *v1alpha1.TrainingJob, pod *corev1.Pod, attempt int32) {
	var groups []client.Object
	for _, g := range c.groups {
		if JobOf(g) == job.UID {
			groups = append(groups, g)
		}
	}
	v := c.verdict(job, attempt, groups)
	gone, hadPods := c.lastGone[jobAttempt{job.UID, attempt}]
	if v.Admission == scheduler.Go || c.askedJustNow(job, attempt) ||
		hadPods && c.Races > 0 && c.now.Sub(gone) <= c.Races {
		return
	}
	lastGone := ""
	if hadPods {
		lastGone = fmt.Sprintf(" (the attempt's last pod went %s before)", c.now.Sub(gone).Round(time.Millisecond))
	}
	c.violation("pod %s is created though %s says %s: %s%s%s", pod.Name, c.Backend.Name(), v.Admission,
		cmp.Or(v.Message, "it has no group"), c.lastAsked(job, attempt), lastGone)
}

// lastAsked says when the scheduler has taken its latest invitation back; "" when there was none or the rules
// allow no race. It tells an operator that came too late from one that was never asked.
func (c *checker) lastAsked(job *v1alpha1.TrainingJob, attempt int32) string {
	var last time.Time
	for _, states := range c.past {
		for _, past := range states {
			if JobOf(past.group) == job.UID && past.until.After(last) &&
				c.verdict(job, attempt, []client.Object{past.group}).Admission == scheduler.Go {
				last = past.until
			}
		}
	}
	if last.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (it asked for the pod until %s before)", c.now.Sub(last).Round(time.Millisecond))
}

func (c *checker) verdict(
	job *v1alpha1.TrainingJob, attempt int32, groups []client.Object,
) scheduler.Verdict {
	gang := render.Gang(job, attempt, false)
	gang.Existing, gang.ClusterObjects = groups, c.ClusterObjects
	return c.Backend.Read(gang, append(groups, c.ClusterObjects...))
}

// askedJustNow reports whether a state of the job's group that was replaced within Races asked for pods.
func (c *checker) askedJustNow(job *v1alpha1.TrainingJob, attempt int32) bool {
	for _, states := range c.past {
		for _, past := range states {
			if JobOf(past.group) == job.UID && c.now.Sub(past.until) <= c.Races &&
				c.verdict(job, attempt, []client.Object{past.group}).Admission == scheduler.Go {
				return true
			}
		}
	}
	return false
}

func (c *checker) checkBinding(pod *corev1.Pod) {
	node := pod.Spec.NodeName
	capacity, known := c.Capacity[node]
	if !known {
		return
	}
	var used int64
	for _, p := range c.pods {
		if p.Spec.NodeName == node && Live(p) {
			used += GPUsOf(p)
		}
	}
	if used > capacity {
		c.violation("pod %s is bound to %s: %d of its %d GPUs are in use", pod.Name, node, used, capacity)
	}
}

// podsOf returns the ranks of a job.
func (c *checker) podsOf(job types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range c.pods {
		if JobOf(p) == job && !render.IsResolver(p) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// EverBound lists by name the pods of a job's attempt that were bound at any time.
func (h History) EverBound(job types.UID, attempt int32) []string {
	bound := map[string]bool{}
	for _, e := range h {
		if p, ok := e.Object.(*corev1.Pod); ok && !render.IsResolver(p) && p.Spec.NodeName != "" &&
			JobOf(p) == job && AttemptOf(p) == attempt {
			bound[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(bound))
}
