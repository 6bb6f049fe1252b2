package contention

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// maxDelay is the default for how long a gang waits until victims have saved. Victims may finish or save by
// themselves within it. Gangs are protected for half of it after the preemptor was queued.
const maxDelay = 2 * time.Minute

// Waits reports whether a gang lacks capacity that other gangs could free.
func Waits(job *v1alpha1.TrainingJob) bool {
	return observation.LacksCapacity(&job.Status) && job.DeletionTimestamp == nil && !spec.Suspended(job) &&
		!spec.ManagedElsewhere(job)
}

// nodeNames are the names of lists of nodes, by the first node. Gangs with equal constraints have the same
// list in scheduler.Shared.
type nodeNames map[*scheduler.Node][]string

func (n nodeNames) of(nodes []scheduler.Node) []string {
	if len(nodes) == 0 {
		return nil
	}
	if names := n[&nodes[0]]; len(names) == len(nodes) {
		return names
	}
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	if n != nil {
		n[&nodes[0]] = names
	}
	return names
}

// waitingGang describes a gang that lacks capacity. Known may be nil.
func waitingGang(j *Job, state scheduler.ClusterState, known nodeNames) preemption.Waiting {
	g := preemption.Waiting{
		Ref: j.ref(), Value: j.Value, Since: j.CreationTimestamp.Time, Blocked: j.blocked(),
		MaxDelay: cmp.Or(j.Class.MaxDelay, maxDelay),
	}
	gang := render.Gang(j.TrainingJob, j.Status.Attempt, len(j.Pods) > 0)
	state.Bound = boundRanks(gang, j.Pods)
	for _, d := range state.Demands(gang) {
		g.Needs = append(g.Needs, preemption.Need{Ranks: d.Ranks, Requests: d.Requests, Nodes: known.of(d.Nodes)})
	}
	g.Domains = domainsOf(gang, state, j.Pods)
	return g
}

// domainsOf returns the domains of a gang that must lie within one: only that of its ranks with nodes, if it
// has such ranks; nil for other gangs.
func domainsOf(gang scheduler.Gang, state scheduler.ClusterState, pods []*corev1.Pod) []preemption.Domain {
	if gang.Within == "" {
		return nil
	}
	fixed := map[string]bool{}
	for _, n := range state.Nodes {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return holds(pod, n.Name) }) {
			fixed[n.Labels[gang.Within]] = true
		}
	}
	domains := []preemption.Domain{}
	for _, d := range state.Domains(gang) {
		if len(fixed) == 0 || fixed[d.Name] {
			domains = append(domains, preemption.Domain{Name: d.Name, Nodes: d.Nodes})
		}
	}
	return domains
}

// holds reports whether a pod holds resources of a node.
func holds(pod *corev1.Pod, node string) bool {
	return pod.Spec.NodeName == node && !observation.Ended(pod)
}

func boundRanks(gang scheduler.Gang, pods []*corev1.Pod) map[string]int32 {
	bound := map[string]int32{}
	for _, pod := range pods {
		if role, ok := gang.RoleOf(pod); ok && pod.Spec.NodeName != "" && !observation.Ended(pod) {
			bound[role.Name]++
		}
	}
	return bound
}

// quota is what a gang waits for in addition to nodes. Its name is that of a budget of the planner.
type quota struct {
	name string
	free scheduler.Amounts
	// namespace whose jobs use it; empty: the jobs of queue use it.
	namespace, queue string
}

// resourceQuotas is the prefix of a blocker's object that is a ResourceQuota of the job's namespace.
const resourceQuotas = "resourcequotas/"

// quotaOf returns the quota that a job waits for, or nil if it waits for nodes. The quota is unknown if the
// blocker has no amounts, or amounts of something that ranks do not request, such as limits.
func quotaOf(j *Job) (q *quota, known bool) {
	b := j.Status.Scheduling.Blocker
	if b == nil || b.Reason != v1alpha1.ReasonQuotaExceeded {
		return nil, true
	}
	q = &quota{name: "quota " + b.Object, free: scheduler.AmountsOf(b.Free)}
	for name := range q.free {
		if !j.request(name) {
			return nil, false
		}
	}
	if strings.HasPrefix(b.Object, resourceQuotas) {
		q.namespace = j.Namespace
		q.name += " of " + j.Namespace
	} else {
		q.queue = spec.Queue(j.TrainingJob)
	}
	return q, len(q.free) > 0
}

// request reports whether some rank requests a resource.
func (j *Job) request(name corev1.ResourceName) bool {
	for _, requests := range j.Requests {
		if requests[name] > 0 {
			return true
		}
	}
	return false
}

// uses reports whether a job's pods count against the quota.
func (q *quota) uses(j *Job) bool {
	if q.namespace != "" {
		return j.Namespace == q.namespace
	}
	return spec.Queue(j.TrainingJob) == q.queue
}

// used returns the part of the quota that the end of a gang would release.
func (q *quota) used(holds map[string]scheduler.Amounts) scheduler.Amounts {
	used := scheduler.Amounts{}
	for _, amounts := range holds {
		for name := range q.free {
			used[name] += amounts[name]
		}
	}
	return used
}
