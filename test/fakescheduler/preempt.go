package fakescheduler

import (
	"cmp"
	"slices"
	"strings"
)

// below says whether the second group may be preempted for the first.
func (d *decider) below(g, victim Group) bool {
	switch {
	case victim.Key == g.Key, d.habits.is(LosesPriority):
		return false
	case d.habits.is(EvictsEqual):
		return victim.Priority <= g.Priority
	}
	return victim.Priority < g.Priority
}

// preemptable GPUs of lower gangs.
func (d *decider) preemptable(g Group) int64 {
	var n int64
	for _, victim := range d.victims(g) {
		n += gpus(victim)
	}
	return n
}

// victims in the order in which they go: the lowest priority first, then the youngest gang. Each is what goes at once: a
// gang, or with EvictsPart one rank of it, the last first.
func (d *decider) victims(g Group) [][]Pod {
	lower := slices.DeleteFunc(slices.Clone(d.groups), func(v Group) bool { return !d.below(g, v) })
	slices.SortFunc(lower, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.Created.Compare(a.Created), strings.Compare(b.Name, a.Name))
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
		case d.habits.has(EvictsPart):
			for _, p := range gang {
				all = append(all, []Pod{p})
			}
		default:
			all = append(all, gang)
		}
	}
	return all
}

// preempt finds where the pods will go once enough lower gangs have ended, and evicts those: none if even all of them
// would not do, and none that is not needed.
func (d *decider) preempt(g Group, pods []Pod) ([]Bind, bool) {
	var going [][]Pod
	plan, ok := d.room.place(pods, d.room.later, false)
	for _, v := range d.victims(g) {
		if ok {
			break
		}
		going = append(going, v)
		d.hasten(v, 1)
		plan, ok = d.room.place(pods, d.room.later, false)
	}
	if !ok {
		for _, v := range going {
			d.hasten(v, -1)
		}
		return nil, false
	}
	for _, v := range going {
		d.hasten(v, -1)
		if without, still := d.room.place(pods, d.room.later, false); still {
			plan = without // spared: what came after it suffices
			continue
		}
		d.hasten(v, 1)
		d.evict(v)
	}
	return plan, true
}

// hasten counts what the pods hold among what is coming, or takes that back.
func (d *decider) hasten(pods []Pod, sign int64) {
	for _, p := range pods {
		d.room.coming[p.Node] += sign * p.GPUs
	}
}

// evict marks the pods as well, so that their own gang, judged later in this step, does not count on them.
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
