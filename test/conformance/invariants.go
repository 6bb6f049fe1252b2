package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Rules that every history must keep.
type Rules struct {
	// Capacity in GPUs by node.
	Capacity map[string]int64
	// Backend in whose dialect the groups speak.
	Backend scheduler.Backend
	// ClusterObjects is what it must see of the cluster beside its groups (scheduler.Consulting).
	ClusterObjects []client.Object
}

// Violations of the invariants that hold at every moment, whatever the scenario, in the order in which they
// happened:
//
//   - a pod is created only in a phase and for an attempt that is persisted;
//   - not while a pod of another attempt of the job lives;
//   - the first one of an attempt not before the scheduler asked for it;
//   - it is told to resume from what is persisted by then, so all ranks of an attempt are told the same;
//   - one that searches a volume is created only while its job drains, when no rank lives;
//   - the GPUs of a node are never given out twice;
//   - a suspended job has no pod that lives, a finished one is finished for good, attempts only go up.
func (r Rules) Violations(h History) []string {
	w := &witness{
		Rules: r, jobs: map[types.UID]*v1alpha1.TrainingJob{}, pods: map[types.UID]*corev1.Pod{},
		groups: map[types.UID]client.Object{},
	}
	for _, e := range h.InOrder() {
		w.see(e)
	}
	return w.found
}

// witness walks through a history and knows what exists at each of its moments.
type witness struct {
	Rules
	jobs   map[types.UID]*v1alpha1.TrainingJob
	pods   map[types.UID]*corev1.Pod
	groups map[types.UID]client.Object
	found  []string
}

func (w *witness) see(e Entry) {
	switch o := e.Object.(type) {
	case nil:
	case *v1alpha1.TrainingJob:
		if e.Gone {
			delete(w.jobs, o.UID)
			return
		}
		w.seeJob(w.jobs[o.UID], o)
		w.jobs[o.UID] = o
	case *corev1.Pod:
		if e.Gone {
			delete(w.pods, o.UID)
			return
		}
		before, known := w.pods[o.UID]
		if !known {
			w.seeBirth(o)
		}
		w.pods[o.UID] = o
		if o.Spec.NodeName != "" && (!known || before.Spec.NodeName == "") {
			w.seeBinding(o)
		}
	default:
		if e.Gone {
			delete(w.groups, o.GetUID())
			return
		}
		w.groups[o.GetUID()] = o
	}
}

func (w *witness) violation(format string, args ...any) {
	w.found = append(w.found, fmt.Sprintf(format, args...))
}

func (w *witness) seeJob(before, now *v1alpha1.TrainingJob) {
	if before != nil {
		if p := before.Status.Phase; p.Finished() && now.Status.Phase != p {
			w.violation("job %s was %s and is %s: a final phase is not final", now.Name, p, now.Status.Phase)
		}
		if now.Status.Attempt < before.Status.Attempt {
			w.violation("job %s falls back from attempt %d to %d", now.Name, before.Status.Attempt, now.Status.Attempt)
		}
	}
	if now.Status.Phase == v1alpha1.PhaseSuspended {
		for _, pod := range w.podsOf(now.UID) {
			if Live(pod) {
				w.violation("job %s is Suspended while pod %s lives", now.Name, pod.Name)
			}
		}
	}
}

// seeBirth of a pod: everything that must be so before it is created.
func (w *witness) seeBirth(pod *corev1.Pod) {
	uid, attempt := JobOf(pod), AttemptOf(pod)
	job := w.jobs[uid]
	if job == nil {
		return // its job was deleted a moment ago: the garbage collector takes the pod
	}
	if trainingjob.IsResolver(pod) {
		w.seeSearch(job, pod)
		return
	}
	switch job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
	default:
		w.violation("pod %s is created while job %s is %s", pod.Name, job.Name,
			cmp.Or(string(job.Status.Phase), "new"))
	}
	if job.Status.Attempt != attempt {
		w.violation("pod %s is created for attempt %d while attempt %d is persisted", pod.Name, attempt,
			job.Status.Attempt)
	}
	if told, ok := ResumeOf(pod); ok && told != ResumePath(job) {
		w.violation("pod %s is told to resume from %q while %q is persisted", pod.Name, told, ResumePath(job))
	}
	first := true
	for _, other := range w.podsOf(uid) {
		switch a := AttemptOf(other); {
		case a == attempt:
			first = false
		case Live(other):
			w.violation("pod %s of attempt %d is created while pod %s of attempt %d lives", pod.Name, attempt,
				other.Name, a)
		}
	}
	if first && w.Backend != nil {
		w.seeFirst(job, pod, attempt)
	}
}

// seeSearch is the birth of a pod that looks for the resume point: what lives could save what it does not
// see.
func (w *witness) seeSearch(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if job.Status.Phase != v1alpha1.PhaseDraining || job.Status.Attempt != AttemptOf(pod) {
		w.violation("pod %s searches for attempt %d while job %s is %s, attempt %d", pod.Name, AttemptOf(pod),
			job.Name, job.Status.Phase, job.Status.Attempt)
	}
	for _, rank := range w.podsOf(job.UID) {
		if Live(rank) {
			w.violation("pod %s searches while pod %s of attempt %d lives", pod.Name, rank.Name, AttemptOf(rank))
		}
	}
}

// seeFirst pod of an attempt: the scheduler must have asked for it. With the pods of the attempt there its
// word is not needed any more, and where a dialect never holds this says nothing.
func (w *witness) seeFirst(job *v1alpha1.TrainingJob, pod *corev1.Pod, attempt int32) {
	var groups []client.Object
	for _, g := range w.groups {
		if JobOf(g) == job.UID {
			groups = append(groups, g)
		}
	}
	gang := trainingjob.NewGang(job, attempt, false)
	gang.ClusterObjects = w.ClusterObjects
	if v := w.Backend.Read(gang, append(groups, w.ClusterObjects...)); v.Admission != scheduler.Go {
		w.violation("pod %s is created though %s says %s: %s", pod.Name, w.Backend.Name(), v.Admission,
			cmp.Or(v.Message, "it has no group"))
	}
}

func (w *witness) seeBinding(pod *corev1.Pod) {
	node := pod.Spec.NodeName
	capacity, known := w.Capacity[node]
	if !known {
		return
	}
	var used int64
	for _, p := range w.pods {
		if p.Spec.NodeName == node && Live(p) {
			used += GPUsOf(p)
		}
	}
	if used > capacity {
		w.violation("pod %s is bound to %s: %d of its %d GPUs are in use", pod.Name, node, used, capacity)
	}
}

// podsOf a job: its ranks.
func (w *witness) podsOf(job types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range w.pods {
		if JobOf(p) == job && !trainingjob.IsResolver(p) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// EverBound lists the pods of a job's attempt that held a node at any time, by name.
func (h History) EverBound(job types.UID, attempt int32) []string {
	bound := map[string]bool{}
	for _, e := range h {
		if p, ok := e.Object.(*corev1.Pod); ok && !trainingjob.IsResolver(p) && p.Spec.NodeName != "" &&
			JobOf(p) == job && AttemptOf(p) == attempt {
			bound[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(bound))
}
