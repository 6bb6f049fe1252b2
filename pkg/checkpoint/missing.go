package checkpoint

import (
	"cmp"
	"maps"
	"slices"
)

// recentSaves is how many saves show which parts belong to the next one. It bounds for how many saves a part
// counts as missing after its program has stopped to write it.
const recentSaves = 4

// markMissing makes a save Torn if it lacks a part that belongs to it. Such a part is one that the save
// before it has, or at least half of the recent saves before it. For the first save of an attempt, the last
// save before that attempt decides, or else two saves after it. Only saves are compared whose parts have
// shared a save: independent series of checkpoints say nothing about each other. A save with a torn part
// shows nothing: half-written files may look like another layout.
func markMissing(saves []Found) {
	slices.SortFunc(saves, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Attempt, b.Attempt))
	})
	g := groupRoles(saves)
	keys := slices.SortedFunc(maps.Keys(g.members), func(a, b roleKey) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.group, b.group))
	})
	for _, key := range keys {
		g.markGroup(saves, g.members[key])
	}
}

// markGroup marks the saves of one group, from the lowest step to the highest.
func (g *roleGroups) markGroup(saves []Found, members []int) {
	whole := slices.DeleteFunc(slices.Clone(members), func(i int) bool { return saves[i].State == Torn })
	for _, i := range members {
		n, _ := slices.BinarySearch(whole, i)
		if n > 0 {
			g.mark(&saves[i], i, whole[n-1], whole[max(0, n-recentSaves):n])
			continue
		}
		shown := g.earlier(saves, i)
		after := slices.DeleteFunc(slices.Clone(whole[:min(len(whole), 3)]), func(j int) bool { return j == i })
		if shown == nil && len(after) > 1 {
			shown = after
		}
		g.mark(&saves[i], i, noIndex, shown)
	}
}

const noIndex = -1

// roleKey names a group of roles that share saves in one attempt.
type roleKey struct {
	attempt int32
	group   string
}

type roleGroups struct {
	roles [](map[string]bool)
	// members are the saves of each group by their index, from the lowest step to the highest.
	members map[roleKey][]int
	// byRole are the saves that have a role, from the lowest step to the highest.
	byRole map[string][]int
}

func groupRoles(saves []Found) *roleGroups {
	g := &roleGroups{
		roles:   make([]map[string]bool, len(saves)),
		members: map[roleKey][]int{}, byRole: map[string][]int{},
	}
	leaders := map[roleKey]string{}
	find := func(attempt int32, role string) string {
		for {
			above, ok := leaders[roleKey{attempt, role}]
			if !ok || above == role {
				return role
			}
			if top, ok := leaders[roleKey{attempt, above}]; ok {
				leaders[roleKey{attempt, role}] = top
			}
			role = above
		}
	}
	for i := range saves {
		g.roles[i] = rolesOf(&saves[i])
		first := ""
		for role := range g.roles[i] {
			g.byRole[role] = append(g.byRole[role], i)
			if top := find(saves[i].Attempt, role); first == "" {
				first = top
			} else if top != first {
				leaders[roleKey{saves[i].Attempt, top}] = first
			}
		}
	}
	for i := range saves {
		for role := range g.roles[i] {
			key := roleKey{saves[i].Attempt, find(saves[i].Attempt, role)}
			if n := len(g.members[key]); n == 0 || g.members[key][n-1] != i {
				g.members[key] = append(g.members[key], i)
			}
		}
	}
	return g
}

// earlier returns the latest save of an earlier attempt that shares a role with a save and is older, if any.
func (g *roleGroups) earlier(saves []Found, i int) []int {
	latest := noIndex
	for role := range g.roles[i] {
		older := g.byRole[role]
		at, _ := slices.BinarySearch(older, i)
		for _, j := range slices.Backward(older[:at]) {
			if saves[j].Attempt < saves[i].Attempt && saves[j].State != Torn {
				latest = max(latest, j)
				break
			}
		}
	}
	if latest == noIndex {
		return nil
	}
	return []int{latest}
}

// mark makes a save Torn if it lacks a role that the save before it has, or half of the recent saves. Where
// there is no save before it in the attempt, all saves in recent must have the role.
func (g *roleGroups) mark(f *Found, i, before int, recent []int) {
	counts := map[string]int{}
	for _, j := range recent {
		for role := range g.roles[j] {
			counts[role]++
		}
	}
	for _, role := range slices.Sorted(maps.Keys(counts)) {
		isWanted := counts[role] == len(recent)
		if before != noIndex {
			isWanted = 2*counts[role] >= len(recent) || g.roles[before][role]
		}
		if isWanted && !g.roles[i][role] && f.State != Torn {
			f.setState(torn("part %s is missing: other saves have it", role))
			f.MissingPart = true
		}
	}
}
