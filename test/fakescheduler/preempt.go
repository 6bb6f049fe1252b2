package fakescheduler

import (
	"cmp"
	"slices"
	"strings"
)

// below reports whether victim may be preempted for g.
func (d *decider) below(g, victim Group) bool {
	switch {
	case victim.Key == g.Key, d.behavior.is(LosesPriority), g.Never && !d.behavior.is(IgnoresNever):
		return false
	case d.behavior.is(EvictsEqual):
		return victim.Priority <= g.Priority
	}
	return victim.Priority < g.Priority
}

// preemptable counts the GPUs of the gangs that may be preempted for g.
func (d *decider) preemptable(g Group) int64 {
	var n int64
	for _, victim := range d.victims(g) {
		n += gpus(victim)
	}
	return n
}

// victims lists what may be preempted for g, in order: the lowest priority first, then the youngest gang.
// Each entry is evicted as a unit: a gang, or with EvictsPart one rank, the gang's last rank first.
func (d *decider) victims(g Group) [][]Pod {
	lower := slices.DeleteFunc(slices.Clone(d.groups), func(v Group) bool { return !d.below(g, v) })
	slices.SortFunc(lower, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.Created.Compare(a.Created),
			strings.Compare(b.Name, a.Name))
	})
	var all [][]Pod
	for _, v := range lower {
		var gang []Pod
		for _, p := range slices.Backward(d.pods) {
			if p.Namespace == v.Namespace && p.Group == v.Name && p.runs() {
				gang = append(gang, p)
			}
		}
		switch {
		case len(gang) == 0:
		case d.behavior.has(EvictsPart):
			for _, p := range gang {
				all = append(all, []Pod{p})
			}
		default:
			all = append(all, gang)
		}
	}
	return all
}

// preempt plans where the pods will go once enough lower gangs have ended, and evicts those gangs. It evicts
// nothing if even all of them would not suffice, and no gang that is not needed.
func (d *decider) preempt(g Group, pods []Pod) ([]Bind, bool) {
	var chosen [][]Pod
	plan, ok := d.capacity.place(pods, d.capacity.later, false)
	for _, v := range d.victims(g) {
		if ok {
			break
		}
		chosen = append(chosen, v)
		d.markEnding(v, 1)
		plan, ok = d.capacity.place(pods, d.capacity.later, false)
	}
	if !ok {
		for _, v := range chosen {
			d.markEnding(v, -1)
		}
		return nil, false
	}
	for _, v := range chosen {
		d.markEnding(v, -1)
		if without, still := d.capacity.place(pods, d.capacity.later, false); still {
			plan = without // spare this victim: the later ones suffice
			continue
		}
		d.markEnding(v, 1)
		d.evict(v)
	}
	return plan, true
}

// markEnding adds the GPUs of the pods to those that are ending; sign -1 undoes it.
func (d *decider) markEnding(pods []Pod, sign int64) {
	for _, p := range pods {
		d.capacity.ending[p.Node] += sign * p.GPUs
	}
}

// evict also marks the pods as deleted, so that their own gang, judged later in this step, does not count
// them.
func (d *decider) evict(pods []Pod) {
	d.decision.Evictions = append(d.decision.Evictions, pods...)
	for _, p := range pods {
		i := slices.IndexFunc(d.pods, func(q Pod) bool { return q.UID == p.UID })
		d.pods[i].Deleting = true
	}
}

func gpus(pods []Pod) int64 {
	var n int64
	for _, p := range pods {
		n += p.GPUs
	}
	return n
}
