package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// room is where the ranks of one role may run.
type room struct {
	role Role
	// need of one rank; ranks of the gang's minimum that hold no node yet.
	need  Amounts
	ranks int64
	// selected by selector and affinity; open of these, which take new pods.
	selected, open []Node
}

// placed is the gang with what the verdict adds to its pods: the flavour on which it was admitted chooses its nodes and tolerates
// their taints.
func placed(g Gang, v Verdict) Gang {
	if len(v.Placement) == 0 {
		return g
	}
	g.Roles = slices.Clone(g.Roles)
	for i := range g.Roles {
		place, ok := v.Placement[g.Roles[i].Name]
		if !ok || g.Roles[i].Template == nil {
			continue
		}
		template := g.Roles[i].Template.DeepCopy()
		pod := &corev1.Pod{Spec: template.Spec}
		place.Place(pod)
		template.Spec = pod.Spec
		g.Roles[i].Template = template
	}
	return g
}

// rooms of the gang, for the roles that have ranks to place.
func (f ClusterState) rooms(g Gang) []room {
	var list []room
	for _, role := range g.Roles {
		left := role.MinAvailable - f.Bound[role.Name]
		if left <= 0 || role.Template == nil {
			continue
		}
		spec := &role.Template.Spec
		r := room{role: role, need: role.Requests(), ranks: int64(left), selected: f.Selected(spec)}
		r.open = Open(r.selected, spec)
		list = append(list, r)
	}
	return list
}

// fits says how many ranks of a need have room in free.
func fits(free func(corev1.ResourceName) int64, need Amounts) int64 {
	n := int64(1) << 40
	for name, amount := range need {
		n = min(n, free(name)/amount)
	}
	return n
}

// places counts the ranks that find a place, on what is free or on empty nodes. For one role the count is exact; of
// several the one with the largest ranks chooses first, which may miss a solution that a search would find.
func places(rooms []room, empty bool) int64 {
	rooms = slices.Clone(rooms)
	slices.SortStableFunc(rooms, func(a, b room) int {
		name := dominant(a.need)
		return cmp.Compare(b.need[name], a.need[name])
	})
	taken := map[string]Amounts{}
	var placed int64
	for _, r := range rooms {
		want := r.ranks
		for _, n := range r.open {
			if want == 0 {
				break
			}
			k := min(want, fits(func(name corev1.ResourceName) int64 {
				if empty {
					return n.Allocatable[name] - taken[n.Name][name]
				}
				return n.Free(name) - taken[n.Name][name]
			}, r.need))
			if k <= 0 {
				continue
			}
			want -= k
			if taken[n.Name] == nil {
				taken[n.Name] = Amounts{}
			}
			for name, amount := range r.need {
				taken[n.Name][name] += k * amount
			}
		}
		placed += r.ranks - want
	}
	return placed
}

// demand of all ranks together, and the nodes that any of them may run on.
func demand(rooms []room) (ranks int64, need Amounts, nodes []Node) {
	need = Amounts{}
	seen := map[string]bool{}
	for _, r := range rooms {
		ranks += r.ranks
		for name, amount := range r.need {
			need[name] += r.ranks * amount
		}
		for _, n := range r.open {
			if !seen[n.Name] {
				seen[n.Name] = true
				nodes = append(nodes, n)
			}
		}
	}
	return ranks, need, nodes
}

// short names the resource of which the nodes have too little: in sum, else in one piece.
func short(rooms []room, need Amounts, nodes []Node) corev1.ResourceName {
	for _, name := range ByImportance(need) {
		if need[name] > TotalFree(nodes, name) {
			return name
		}
	}
	for _, r := range rooms {
		for _, name := range ByImportance(r.need) {
			if r.need[name] > LargestFree(r.open, name) {
				return name
			}
		}
	}
	return dominant(need)
}

// dominant resource of a need: GPUs where it has them.
func dominant(need Amounts) corev1.ResourceName {
	if names := ByImportance(need); len(names) > 0 {
		return names[0]
	}
	return ""
}

// ByImportance sorts extended resources first, which is what gangs wait for.
func ByImportance(need Amounts) []corev1.ResourceName {
	rank := func(name corev1.ResourceName) int {
		switch {
		case strings.Contains(string(name), "/"):
			return 0
		case name == corev1.ResourcePods:
			return 2
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(need), func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}
