package fakescheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Decide what one step does. Pure: equal snapshots give equal decisions.
func Decide(s Snapshot, h Habits) Decision {
	d := &decider{
		habits: h, groups: inOrder(s.Groups, h), pods: slices.Clone(s.Pods), room: newRoom(s, h),
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

// inOrder: priority, then age, then name, since creation times have whole seconds.
func inOrder(groups []Group, h Habits) []Group {
	groups = slices.Clone(groups)
	slices.SortFunc(groups, func(a, b Group) int {
		byPriority := cmp.Compare(b.Priority, a.Priority)
		if h.is(LosesPriority) {
			byPriority = 0
		}
		return cmp.Or(byPriority, a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return groups
}

// decider goes through the groups in order; each sees what those before it have taken.
type decider struct {
	habits   Habits
	groups   []Group
	pods     []Pod
	room     room
	decision Decision
}

func (d *decider) judge(g Group) {
	if d.habits.is(DropsGroup) && g.Status.Phase == Queued {
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
		// The minimum is bound: further ranks join one by one as there is room.
		d.say(g, Placed, "", "")
		d.bind(m.extra, true)
	}
}

// invite a gang whose ranks are not all there: nothing is bound, and room is held for what it lacks.
func (d *decider) invite(g Group, m members) {
	want := g.GPUs - m.gpus
	free := d.room.total(d.room.now)
	switch {
	case g.Status.Phase == Placed:
		// It has lost ranks; its owner decides what becomes of the rest.
		d.say(g, Placed, "BelowMinimum", fmt.Sprintf("%d of the gang's first %d ranks are missing", m.missing, g.minMember()))
	case d.habits.has(InvitesAll):
		d.say(g, Invited, "", "")
	case g.Status.Phase == Invited, want <= free, want <= d.room.total(d.room.later)+d.preemptable(g), d.habits.is(BindsPart) && free > 0:
		d.say(g, Invited, "", "")
		d.room.reserve(want)
	default:
		d.say(g, Queued, scheduler.ReasonWaitingInQueue,
			fmt.Sprintf("the first %d ranks need %d GPUs and %d are free", g.minMember(), g.GPUs, free))
	}
}

// admit a gang whose ranks are there: all of its minimum or nothing.
func (d *decider) admit(g Group, m members) {
	if d.bind(m.required, d.habits.is(BindsPart)) {
		d.say(g, Placed, "", "")
		d.bind(m.extra, true)
		return
	}
	if plan, ok := d.preempt(g, m.required); ok {
		d.room.take(plan) // nobody of lower rank slips in while the victims end
		d.say(g, Invited, scheduler.ReasonUnschedulable, "the gang waits for preempted ranks to end")
		return
	}
	d.say(g, Invited, scheduler.ReasonUnschedulable,
		fmt.Sprintf("the first %d ranks do not fit on the nodes at once; %d GPUs are free", g.minMember(), d.room.total(d.room.now)))
}

func (d *decider) bind(pods []Pod, part bool) bool {
	binds, all := d.room.place(pods, d.room.now, part)
	d.room.take(binds)
	d.decision.Binds = append(d.decision.Binds, binds...)
	return all || part && len(binds) > 0
}

func (d *decider) say(g Group, phase Phase, reason, message string) {
	if s := (Status{g.Attempt, phase, reason, message}); s != g.Status {
		d.decision.Statuses[g.Key] = s
	}
}

// members of a gang's attempt, sorted into what its minimum needs and the rest.
type members struct {
	// required are unbound ranks that complete the minimum; extra the other unbound ones.
	required, extra []Pod
	// missing ranks of the minimum do not exist.
	missing int64
	// gpus of the ranks that are bound.
	gpus int64
}

func (d *decider) members(g Group) members {
	shares := g.Shares
	if d.habits.is(IgnoresRoles) {
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
		if d.habits.is(IgnoresRoles) {
			p.Role = ""
		}
		if p.Node == "" && !p.Succeeded {
			unbound = append(unbound, p)
			continue
		}
		lacks[p.Role]-- // a rank that has succeeded did its share
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
