package placement

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
)

// Of returns the map of a snapshot that a viewer may see, with those of the cluster's jobs that the viewer
// may see. It changes neither.
func Of(s *Snapshot, v Viewer, jobs []*v1alpha1.TrainingJob) Map {
	hidden := func(j *v1alpha1.TrainingJob) bool { return !v.Sees(j.Namespace) }
	jobs = slices.DeleteFunc(slices.Clone(jobs), hidden)
	m := Map{
		Version: s.Version, NodesKnown: v.ListsNodes && s.NodesKnown, HoldersKnown: s.PodsKnown,
		Waiting: waiting(jobs),
	}
	switch {
	case !v.ListsNodes:
		m.HoldersKnown = true // as far as statuses have them
		m.Problems = []Problem{{
			"You may not list the nodes of this cluster: the map shows only the nodes of your own jobs.",
			"Ask an admin for the right to list nodes, to see the whole cluster.",
		}}
		m.fromStatuses(jobs)
	case !s.NodesKnown:
		m.HoldersKnown = true
		m.Problems = s.Problems
		m.fromStatuses(jobs)
	default:
		m.Problems = s.Problems
		m.fromNodes(s, v, jobs)
	}
	return m
}

// fromNodes fills the map with all nodes.
func (m *Map) fromNodes(s *Snapshot, v Viewer, jobs []*v1alpha1.TrainingJob) {
	b := newBuilder(jobs)
	for _, on := range s.Nodes {
		if on.Kind == "" && on.Capacity == 0 && len(on.Pods) == 0 {
			continue // neither GPUs nor ranks
		}
		b.add(on, b.use(on, v, s.PodsKnown))
	}
	m.Groups, m.Gangs = b.done()
	for i := range m.Groups {
		g := &m.Groups[i]
		for n := range g.Nodes {
			g.Totals.add(&g.Nodes[n])
			m.Totals.add(&g.Nodes[n])
		}
	}
}

// builder of the groups and the gangs of a map.
type builder struct {
	phases map[types.UID]v1alpha1.Phase
	groups map[location]*Group
	gangs  []Gang
	at     map[types.UID]int
}

// location and kind of GPU define a group of nodes.
type location struct{ kind, key, domain string }

func newBuilder(jobs []*v1alpha1.TrainingJob) *builder {
	b := &builder{
		phases: map[types.UID]v1alpha1.Phase{}, groups: map[location]*Group{}, at: map[types.UID]int{},
	}
	for _, j := range jobs {
		b.phases[j.UID] = j.Status.Phase
	}
	return b
}

func (b *builder) add(on *OnNode, use NodeUse) {
	p := location{on.Kind, on.DomainKey, on.Domain}
	if b.groups[p] == nil {
		b.groups[p] = &Group{Kind: on.Kind, DomainKey: on.DomainKey, Domain: on.Domain}
	}
	b.groups[p].Nodes = append(b.groups[p].Nodes, use)
}

// gang returns the index of a job's gang, valid until done.
func (b *builder) gang(job Job) int {
	i, known := b.at[job.UID]
	if !known {
		i = len(b.gangs)
		b.at[job.UID] = i
		b.gangs = append(b.gangs, Gang{
			UID: job.UID, Namespace: job.Namespace, Name: job.Name, Phase: b.phases[job.UID],
		})
	}
	return i
}

// use of a node's GPUs.
func (b *builder) use(on *OnNode, v Viewer, known bool) NodeUse {
	use := NodeUse{Name: on.Name}
	if !known {
		use.GPUs, use.Reasons = max(on.Capacity, on.Allocatable), reasons(on, 0)
		return use
	}
	use.Holders = b.holders(on.Pods, v)
	for _, h := range use.Holders {
		use.Used += h.GPUs
	}
	use.GPUs = max(on.Capacity, on.Allocatable, use.Used)
	if on.Exists && on.Ready && !on.Cordoned {
		use.Free = max(0, on.Allocatable-use.Used)
	}
	use.Unusable = use.GPUs - use.Used - use.Free
	use.Reasons = reasons(on, use.Used)
	return use
}

func reasons(on *OnNode, used int64) []Reason {
	if !on.Exists {
		return []Reason{Gone}
	}
	var all []Reason
	for _, r := range []struct {
		reason Reason
		is     bool
	}{
		{NotReady, !on.Ready}, {Cordoned, on.Cordoned}, {NotOffered, on.Allocatable < on.Capacity},
		{Overcommitted, used > on.Allocatable},
	} {
		if r.is {
			all = append(all, r.reason)
		}
	}
	return all
}

// holders of a node's GPUs, from its pods in their order.
func (b *builder) holders(pods []Pod, v Viewer) []Holder {
	var all []Holder
	other := Holder{Gang: -1}
	for _, p := range pods {
		if !p.isRank() || !v.Sees(p.Job.Namespace) {
			other.GPUs += p.GPUs
			continue
		}
		gang := b.gang(p.Job)
		if n := len(all); n == 0 || all[n-1].Gang != gang {
			all = append(all, Holder{Gang: gang})
			b.gangs[gang].Nodes++
		}
		h := &all[len(all)-1]
		h.GPUs += p.GPUs
		h.Ranks = append(h.Ranks, p.Rank)
		b.gangs[gang].GPUs += p.GPUs
	}
	if other.GPUs > 0 {
		all = append(all, other)
	}
	return all
}

// done sorts groups and gangs.
func (b *builder) done() ([]Group, []Gang) {
	order := make([]int, len(b.gangs)) // from the new index to the old one
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return compareGangs(b.gangs[x], b.gangs[y]) })
	gangs, index := make([]Gang, len(order)), make([]int, len(order))
	for i, old := range order {
		gangs[i], index[old] = b.gangs[old], i
	}
	groups := make([]Group, 0, len(b.groups))
	for _, g := range b.groups {
		for n := range g.Nodes {
			for h := range g.Nodes[n].Holders {
				if holder := &g.Nodes[n].Holders[h]; holder.Gang >= 0 {
					holder.Gang = index[holder.Gang]
				}
			}
		}
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.DomainKey, b.DomainKey),
			strings.Compare(a.Domain, b.Domain))
	})
	return groups, gangs
}

func compareGangs(a, b Gang) int {
	return cmp.Or(cmp.Compare(b.GPUs, a.GPUs), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// waiting returns the jobs that wait, the oldest first.
func waiting(jobs []*v1alpha1.TrainingJob) []Waiting {
	var all []Waiting
	for _, j := range jobs {
		if !queues.Waits(j) {
			continue
		}
		w := Waiting{
			UID: j.UID, Namespace: j.Namespace, Name: j.Name, Phase: j.Status.Phase, GPUs: j.Status.GPUs,
			Created: j.CreationTimestamp.UTC(),
		}
		if s := j.Status.Scheduling; s != nil && s.Blocker != nil {
			w.Reason = s.Blocker.Reason
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
	return all
}
