package fakescheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gang describes a gang by which of its objects exist.
type gang struct {
	name     string
	priority int32
	age      int // larger is older
	attempt  int64
	status   Status
	shares   []Share
	extra    int   // ranks above the minimum
	never    bool  // it does not preempt
	gpus     int64 // of each rank, default 1
	// pods by rank: "" is unbound, a node's name is bound. A suffix gives the state: "-" being deleted,
	// "!" failed, "+" succeeded. Ranks without an entry do not exist.
	pods []string
}

func snapshot(nodes []int64, gangs ...gang) Snapshot {
	var s Snapshot
	for i, gpus := range nodes {
		s.Nodes = append(s.Nodes, Node{Name: fmt.Sprintf("n%d", i), GPUs: gpus})
	}
	for _, g := range gangs {
		if g.gpus == 0 {
			g.gpus = 1
		}
		if g.attempt == 0 {
			g.attempt = 1
		}
		group := Group{
			Key: Key{"ns", g.name}, Priority: g.priority, Attempt: g.attempt, Status: g.status, Shares: g.shares,
			Created: time.Unix(1000-int64(g.age), 0), Never: g.never,
		}
		group.GPUs = group.minMember() * g.gpus
		s.Groups = append(s.Groups, group)
		s.Pods = append(s.Pods, podsOf(g)...)
	}
	return s
}

// podsOf lists the ranks of the gang's shares in order, then those above the minimum, which have the last
// role.
func podsOf(g gang) []Pod {
	var roles []string
	for _, share := range g.shares {
		roles = append(roles, slices.Repeat([]string{share.Role}, int(share.Min))...)
	}
	roles = append(roles, slices.Repeat([]string{g.shares[len(g.shares)-1].Role}, g.extra)...)
	var pods []Pod
	for i, where := range g.pods {
		name := fmt.Sprintf("%s-%s-%d", g.name, roles[i], i)
		pods = append(pods, Pod{
			Key: Key{"ns", name}, UID: name, Node: strings.TrimRight(where, "-!+"), GPUs: g.gpus,
			Group: g.name, Role: roles[i], Attempt: g.attempt,
			Deleting: strings.HasSuffix(where, "-"), Failed: strings.HasSuffix(where,
				"!"), Succeeded: strings.HasSuffix(where, "+"),
		})
	}
	return pods
}

// linesOf renders a decision as sorted lines.
func linesOf(d Decision) []string {
	var lines []string
	for k, s := range d.Statuses {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s is %s %s", k.Name, s.Phase, s.Reason)))
	}
	for _, b := range d.Binds {
		lines = append(lines, fmt.Sprintf("bind %s to %s", b.Pod.Name, b.Node))
	}
	for _, p := range d.Evictions {
		lines = append(lines, "evict "+p.Name)
	}
	for _, k := range d.Drops {
		lines = append(lines, "drop "+k.Name)
	}
	slices.Sort(lines)
	return lines
}

func workers(n int64) []Share { return []Share{{"worker", n}} }
func is(p Phase) Status       { return Status{Attempt: 1, Phase: p} }

type decideCase struct {
	reason   string
	snapshot Snapshot
	behavior Behavior
	want     []string
}

func decideCases() map[string]decideCase {
	low := gang{name: "low", shares: workers(2), status: is(Placed), pods: []string{"n0", "n1"}}
	return map[string]decideCase{
		"a gang without pods that fits": {
			reason:   "it is invited: a queued job costs nothing",
			snapshot: snapshot([]int64{2, 2}, gang{name: "a", shares: workers(4)}),
			want:     []string{"a is Invited"},
		},
		"a gang without pods that does not fit": {
			reason:   "its status explains why it waits",
			snapshot: snapshot([]int64{2, 1}, gang{name: "a", shares: workers(4)}),
			want:     []string{"a is Queued WaitingInQueue"},
		},
		"a gang without pods that does not fit, every group is invited": {
			reason:   "correct behavior: queued jobs have pending pods",
			snapshot: snapshot([]int64{2, 1}, gang{name: "a", shares: workers(4)}),
			behavior: Behavior{Options: []Option{InvitesAll}},
			want:     []string{"a is Invited"},
		},
		"two gangs of which one fits": {
			reason: "the capacity of the invited one is reserved until its pods exist",
			snapshot: snapshot([]int64{4},
				gang{name: "first", age: 2, shares: workers(3)}, gang{name: "second", age: 1, shares: workers(2)}),
			want: []string{"first is Invited", "second is Queued WaitingInQueue"},
		},
		"two gangs, the younger is more important": {
			reason: "priority outranks age",
			snapshot: snapshot([]int64{4},
				gang{name: "old", age: 2, shares: workers(3)}, gang{name: "high", age: 1, priority: 9,
					shares: workers(3)}),
			want: []string{"high is Invited", "old is Queued WaitingInQueue"},
		},
		"half of the pods exist": {
			reason: "nothing is bound before the minimum is there",
			snapshot: snapshot([]int64{4}, gang{name: "a", shares: workers(3), status: is(Invited),
				pods: []string{"", ""}}),
		},
		"all pods exist and fit": {
			reason: "the whole gang is bound in one step",
			snapshot: snapshot([]int64{2, 1}, gang{name: "a", shares: workers(3), status: is(Invited),
				pods: []string{"", "", ""}}),
			want: []string{"a is Placed", "bind a-worker-0 to n0", "bind a-worker-1 to n0",
				"bind a-worker-2 to n1"},
		},
		"all pods exist, one too many": {
			reason: "all or nothing",
			snapshot: snapshot([]int64{2}, gang{name: "a", shares: workers(3), status: is(Invited),
				pods: []string{"", "", ""}}),
			want: []string{"a is Invited Unschedulable"},
		},
		"GPUs enough, spread too thin": {
			reason: "a rank of two GPUs does not fit on two nodes of one",
			snapshot: snapshot([]int64{1, 1}, gang{name: "a", gpus: 2, shares: workers(1),
				status: is(Invited), pods: []string{""}}),
			want: []string{"a is Invited Unschedulable"},
		},
		"ranks above the minimum": {
			reason: "they join as capacity allows",
			snapshot: snapshot([]int64{3}, gang{name: "a", shares: workers(2), extra: 2, status: is(Invited),
				pods: []string{"", "", "", ""}}),
			want: []string{"a is Placed", "bind a-worker-0 to n0", "bind a-worker-1 to n0",
				"bind a-worker-2 to n0"},
		},
		"two of four, one must be the leader": {
			reason: "the leader is among those that start, not another worker",
			snapshot: snapshot([]int64{2}, gang{
				name: "a", shares: []Share{{"worker", 1}, {"zmaster",
					1}}, status: is(Invited), pods: []string{"", ""}, extra: 0,
			}),
			want: []string{"a is Placed", "bind a-worker-0 to n0", "bind a-zmaster-1 to n0"},
		},
		"the leader does not exist yet": {
			reason: "ranks of another role do not stand in for it",
			snapshot: snapshot([]int64{4}, gang{
				name: "a", shares: []Share{{"master", 0}, {"worker", 2}}, status: is(Invited), pods: []string{"", ""},
			}, gang{name: "b", shares: []Share{{"worker", 1},
				{"master", 1}}, status: is(Invited), pods: []string{""}}),
			want: []string{"a is Placed", "bind a-worker-0 to n0", "bind a-worker-1 to n0"},
		},
		"a rank has succeeded": {
			reason: "it counts towards the minimum and occupies nothing",
			snapshot: snapshot([]int64{2}, gang{name: "a", shares: workers(2), status: is(Placed),
				pods: []string{"n0+", "n0"}},
				gang{name: "b", shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"b is Placed", "bind b-worker-0 to n0"},
		},
		"a higher gang comes": {
			reason: "the lower one is preempted as a unit, though half would do, and its status reports the missing " +
				"ranks",
			snapshot: snapshot([]int64{1, 1}, low,
				gang{name: "high", priority: 9, shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"evict low-worker-0", "evict low-worker-1", "high is Invited Unschedulable",
				"low is Placed BelowMinimum"},
		},
		"a higher gang comes, ranks are preempted singly": {
			reason: "correct behavior: Volcano leaves the rest of the gang running",
			snapshot: snapshot([]int64{1, 1}, low,
				gang{name: "high", priority: 9, shares: workers(1), status: is(Invited), pods: []string{""}}),
			behavior: Behavior{Options: []Option{EvictsPart}},
			want:     []string{"evict low-worker-1", "high is Invited Unschedulable", "low is Placed BelowMinimum"},
		},
		"a higher gang that fits beside the lower": {
			reason: "no gang is preempted without need",
			snapshot: snapshot([]int64{1, 2}, low,
				gang{name: "high", priority: 9, shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"bind high-worker-0 to n1", "high is Placed"},
		},
		"a higher gang that would not fit anyway": {
			reason: "no gang is preempted in vain",
			snapshot: snapshot([]int64{1, 1}, low,
				gang{name: "high", priority: 9, shares: workers(3), status: is(Invited), pods: []string{"", "", ""}}),
			want: []string{"high is Invited Unschedulable"},
		},
		"an equal gang comes": {
			reason: "equals wait",
			snapshot: snapshot([]int64{1, 1}, low,
				gang{name: "next", shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"next is Invited Unschedulable"},
		},
		"two lower gangs, one suffices": {
			reason: "the youngest of the lowest priority goes",
			snapshot: snapshot([]int64{1, 1},
				gang{name: "older", age: 2, shares: workers(1), status: is(Placed), pods: []string{"n0"}},
				gang{name: "younger", age: 1, shares: workers(1), status: is(Placed), pods: []string{"n1"}},
				gang{name: "high", priority: 9, shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"evict younger-worker-0", "high is Invited Unschedulable",
				"younger is Placed BelowMinimum"},
		},
		"a victim that would not have helped": {
			reason: "the youngest is tried first, found too small, and spared once a larger one goes",
			snapshot: snapshot([]int64{2, 1},
				gang{name: "large", age: 2, gpus: 2, shares: workers(1), status: is(Placed), pods: []string{"n0"}},
				gang{name: "small", age: 1, shares: workers(1), status: is(Placed), pods: []string{"n1"}},
				gang{name: "high", priority: 9, gpus: 2, shares: workers(1), status: is(Invited), pods: []string{""}}),
			want: []string{"evict large-worker-0", "high is Invited Unschedulable", "large is Placed BelowMinimum"},
		},
		"victims end": {
			reason: "what becomes free is the preemptor's, no other gang is preempted for it, and no " +
				"later gang takes it",
			snapshot: snapshot([]int64{2, 1},
				gang{name: "low", age: 3, shares: workers(2), status: is(Placed), pods: []string{"n0-", "n1"}},
				gang{name: "high", priority: 9, shares: workers(2),
					status: Status{1, Invited, "Unschedulable",
						"the gang waits for preempted ranks to end"}, pods: []string{"", ""}},
				gang{name: "slip", age: 1, shares: workers(1), status: is(Queued)}),
			want: []string{"low is Placed BelowMinimum", "slip is Queued WaitingInQueue"},
		},
		"the next attempt": {
			reason:   "the status of the previous one is ignored",
			snapshot: snapshot([]int64{1}, gang{name: "a", attempt: 2, shares: workers(1), status: is(Placed)}),
			want:     []string{"a is Invited"},
		},
		"pods of an older attempt": {
			reason: "they occupy GPUs and are not members",
			snapshot: func() Snapshot {
				s := snapshot([]int64{1}, gang{name: "a", attempt: 2, shares: workers(1), pods: []string{"n0"}})
				s.Pods[0].Attempt = 1
				return s
			}(),
			want: []string{"a is Queued WaitingInQueue"},
		},
		"nothing to do": {
			reason:   "an idle cluster sees no writes",
			snapshot: snapshot([]int64{1, 1}, low),
		},

		"BindsPart": {
			reason: "binds two of three",
			snapshot: snapshot([]int64{2}, gang{name: "a", shares: workers(3), status: is(Invited),
				pods: []string{"", "", ""}}),
			behavior: Behavior{Mutants: []Mutant{BindsPart}},
			want:     []string{"a is Placed", "bind a-worker-0 to n0", "bind a-worker-1 to n0"},
		},
		"NeverReleases": {
			reason: "the GPUs of a failed rank and of one that is gone stay in use",
			snapshot: func() Snapshot {
				s := snapshot([]int64{3}, gang{name: "a", shares: workers(1), status: is(Placed),
					pods: []string{"n0!"}}, gang{name: "b", shares: workers(2)})
				s.Gone = []Pod{{Node: "n0", GPUs: 1}}
				return s
			}(),
			behavior: Behavior{Mutants: []Mutant{NeverReleases}},
			want:     []string{"a is Placed BelowMinimum", "b is Queued WaitingInQueue"},
		},
		"LosesPriority": {
			reason: "first come, first served",
			snapshot: snapshot([]int64{4},
				gang{name: "old", age: 2, shares: workers(3)}, gang{name: "high", age: 1, priority: 9,
					shares: workers(3)}),
			behavior: Behavior{Mutants: []Mutant{LosesPriority}},
			want:     []string{"high is Queued WaitingInQueue", "old is Invited"},
		},
		"DropsGroup": {
			reason:   "a job that waits loses its group",
			snapshot: snapshot([]int64{1}, gang{name: "a", shares: workers(2), status: is(Queued)}),
			behavior: Behavior{Mutants: []Mutant{DropsGroup}},
			want:     []string{"drop a"},
		},
		"EvictsEqual": {
			reason: "equals preempt each other",
			snapshot: snapshot([]int64{1, 1}, low,
				gang{name: "next", shares: workers(1), status: is(Invited), pods: []string{""}}),
			behavior: Behavior{Mutants: []Mutant{EvictsEqual}},
			want:     []string{"evict low-worker-0", "evict low-worker-1", "next is Invited Unschedulable"},
		},
		"a class that does not preempt": {
			reason: "it waits until it fits",
			snapshot: snapshot([]int64{1, 1}, low, gang{
				name: "high", priority: 9, never: true, shares: workers(1), status: is(Invited), pods: []string{""},
			}),
			want: []string{"high is Invited Unschedulable"},
		},
		"IgnoresNever": {
			reason: "it still preempts",
			snapshot: snapshot([]int64{1, 1}, low, gang{
				name: "high", priority: 9, never: true, shares: workers(1), status: is(Invited), pods: []string{""},
			}),
			behavior: Behavior{Mutants: []Mutant{IgnoresNever}},
			want: []string{"evict low-worker-0", "evict low-worker-1", "high is Invited Unschedulable",
				"low is Placed BelowMinimum"},
		},
		"IgnoresRoles": {
			reason: "two workers start without their leader",
			snapshot: snapshot([]int64{2}, gang{
				name: "a", shares: []Share{{"zmaster", 1}, {"worker",
					1}}, extra: 1, status: is(Invited), pods: []string{"", "", ""},
			}),
			behavior: Behavior{Mutants: []Mutant{IgnoresRoles}},
			want:     []string{"a is Placed", "bind a-worker-1 to n0", "bind a-worker-2 to n0"},
		},
	}
}

func TestDecide(t *testing.T) {
	for name, tc := range decideCases() {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprintf("%+v", tc.snapshot)
			if diff := cmp.Diff(tc.want, linesOf(Decide(tc.snapshot, tc.behavior))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if after := fmt.Sprintf("%+v", tc.snapshot); before != after {
				t.Errorf("the snapshot changed:\n%s\n%s", before, after)
			}
		})
	}
}

// A mutant or an option that decides like the plain scheduler would test nothing.
func TestEveryBehaviorShows(t *testing.T) {
	shown := map[string]bool{}
	for name, tc := range decideCases() {
		if len(tc.behavior.Mutants)+len(tc.behavior.Options) == 0 {
			continue
		}
		shown[fmt.Sprint(tc.behavior.Mutants, tc.behavior.Options)] = true
		if cmp.Equal(linesOf(Decide(tc.snapshot, Behavior{})), linesOf(Decide(tc.snapshot, tc.behavior))) {
			t.Errorf("%s: decides like a scheduler without it", name)
		}
	}
	for _, m := range Mutants() {
		if !shown[fmt.Sprint([]Mutant{m}, []Option(nil))] {
			t.Errorf("mutant %s is in no case", m)
		}
	}
	for _, o := range Options() {
		if !shown[fmt.Sprint([]Mutant(nil), []Option{o})] {
			t.Errorf("option %s is in no case", o)
		}
	}
}
