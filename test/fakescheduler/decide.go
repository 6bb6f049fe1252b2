package fakescheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Decide what one step does. It is pure: equal snapshots give equal decisions.
func Decide(s Snapshot, b Behavior) Decision {
	d := &decider{
		behavior: b, groups: inOrder(s.Groups, b), pods: slices.Clone(s.Pods), capacity: newCapacity(s, b),
		decision: Decision{Statuses: map[Key]Status{}},
	}
	slices.SortFunc(d.pods, func(a, b Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, g := range d.groups {
		if g.Status.Attempt != g.Attempt {
			g.Status = Status{}
		}
		d.judge(g)
	}
	return d.decision
}

// inOrder sorts by priority, then age, then name: creation times have a resolution of one second.
func inOrder(groups []Group, behavior Behavior) []Group {
	groups = slices.Clone(groups)
	slices.SortFunc(groups, func(a, b Group) int {
		byPriority := cmp.Compare(b.Priority, a.Priority)
		if behavior.is(LosesPriority) {
			byPriority = 0
		}
		return cmp.Or(byPriority, a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
	return groups
}

// decider judges the groups in order. Each takes its capacity before the next one is judged.
type decider struct {
	behavior Behavior
	groups   []Group
	pods     []Pod
	capacity capacity
	decision Decision
}

func (d *decider) judge(g Group) {
	if d.behavior.is(DropsGroup) && g.Status.Phase == Queued {
		d.decision.Drops = append(d.decision.Drops, g.Key)
		return
	}
	m := d.members(g)
	switch {
	case m.missing > 0:
		d.invite(g, m)
	case len(m.required) > 0:
		d.admit(g, m)
	default:
		// The minimum is bound: further ranks join singly as capacity allows.
		d.say(g, Placed, "", "")
		d.bind(m.extra, true)
	}
}

// invite a gang some of whose ranks do not exist yet: nothing is bound, and capacity is reserved for the
// missing ranks.
func (d *decider) invite(g Group, m members) {
	want := g.GPUs - m.gpus
	free := d.capacity.total(d.capacity.now)
	switch {
	case g.Status.Phase == Placed:
		// The gang has lost ranks; its owner decides what happens to the others.
		d.say(g, Placed, "BelowMinimum", fmt.Sprintf("%d of the gang's first %d ranks are missing", m.missing,
			g.minMember()))
	case d.behavior.has(InvitesAll):
		d.say(g, Invited, "", "")
	case g.Status.Phase == Invited, want <= free,
		want <= d.capacity.total(d.capacity.later)+d.preemptable(g),
		d.behavior.is(BindsPart) && free > 0:
		d.say(g, Invited, "", "")
		d.capacity.reserve(want)
	default:
		d.say(g, Queued, scheduler.ReasonWaitingInQueue,
			fmt.Sprintf("the first %d ranks need %d GPUs and %d are free", g.minMember(), g.GPUs, free))
	}
}

// admit a gang whose ranks exist: its whole minimum or nothing.
func (d *decider) admit(g Group, m members) {
	if d.bind(m.required, d.behavior.is(BindsPart)) {
		d.say(g, Placed, "", "")
		d.bind(m.extra, true)
		return
	}
	if plan, ok := d.preempt(g, m.required); ok {
		d.capacity.take(plan) // no lower gang may take the capacity while the victims end
		d.say(g, Invited, scheduler.ReasonUnschedulable, "the gang waits for preempted ranks to end")
		return
	}
	d.say(g, Invited, scheduler.ReasonUnschedulable,
		fmt.Sprintf("the first %d ranks do not fit on the nodes at once; %d GPUs are free", g.minMember(),
			d.capacity.total(d.capacity.now)))
}

func (d *decider) bind(pods []Pod, part bool) bool {
	binds, all := d.capacity.place(pods, d.capacity.now, part)
	d.capacity.take(binds)
	d.decision.Binds = append(d.decision.Binds, binds...)
	return all || part && len(binds) > 0
}

func (d *decider) say(g Group, phase Phase, reason, message string) {
	if s := (Status{g.Attempt, phase, reason, message}); s != g.Status {
		d.decision.Statuses[g.Key] = s
	}
}

// members of a gang's attempt, divided into what its minimum needs and the rest.
type members struct {
	// required are unbound ranks that complete the minimum; extra the other unbound ones.
	required, extra []Pod
	// missing counts the ranks of the minimum that do not exist.
	missing int64
	// gpus counts those of the bound ranks.
	gpus int64
}

func (d *decider) members(g Group) members {
	shares := g.Shares
	if d.behavior.is(IgnoresRoles) {
		shares = []Share{{Min: g.minMember()}}
	}
	var m members
	lacks := map[string]int64{}
	for _, s := range shares {
		lacks[s.Role] = s.Min
	}
	var unbound []Pod
	for _, p := range d.pods {
		if p.Namespace != g.Namespace || p.Group != g.Name || p.Attempt != g.Attempt || p.Deleting || p.Failed {
			continue
		}
		if d.behavior.is(IgnoresRoles) {
			p.Role = ""
		}
		if p.Node == "" && !p.Succeeded {
			unbound = append(unbound, p)
			continue
		}
		lacks[p.Role]-- // a rank that has succeeded still counts towards the minimum
		m.gpus += p.GPUs
	}
	for _, p := range unbound {
		if lacks[p.Role] > 0 {
			lacks[p.Role]--
			m.required = append(m.required, p)
		} else {
			m.extra = append(m.extra, p)
		}
	}
	for _, n := range lacks {
		m.missing += max(0, n)
	}
	return m
}
