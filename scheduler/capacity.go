package scheduler

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// roleCapacity is what one role still needs, and the nodes that may provide it.
type roleCapacity struct {
	role Role
	// requests of one rank.
	requests Amounts
	// unbound is how many of the role's MinAvailable ranks are not bound to a node; above 0.
	unbound int64
	// matching nodes are those that selector and affinity allow; accepting are those of them that take new
	// pods.
	matching, accepting []Node
}

// withPlacement returns the gang with what the verdict adds to its pods: the flavour on which a gang was
// admitted selects its nodes and makes it tolerate their taints.
func withPlacement(g Gang, v Verdict) Gang {
	if len(v.Placement) == 0 {
		return g
	}
	g.Roles = slices.Clone(g.Roles)
	for i := range g.Roles {
		placement, ok := v.Placement[g.Roles[i].Name]
		if !ok || g.Roles[i].Template == nil {
			continue
		}
		template := g.Roles[i].Template.DeepCopy()
		pod := &corev1.Pod{Spec: template.Spec}
		placement.ApplyTo(pod)
		template.Spec = pod.Spec
		g.Roles[i].Template = template
	}
	return g
}

// capacity returns the capacity for each role of the gang that still has ranks to place.
func (s ClusterState) capacity(g Gang) []roleCapacity {
	var roles []roleCapacity
	for _, role := range g.Roles {
		unbound := role.MinAvailable - s.Bound[role.Name]
		if unbound <= 0 || role.Template == nil {
			continue
		}
		spec := &role.Template.Spec
		matching := s.MatchingNodes(spec)
		roles = append(roles, roleCapacity{
			role: role, requests: role.Requests(), unbound: int64(unbound),
			matching: matching, accepting: AcceptingNodes(matching, spec),
		})
	}
	return roles
}

// ranksThatFit returns how many ranks with the given requests fit into what is available.
func ranksThatFit(available func(corev1.ResourceName) int64, requests Amounts) int64 {
	n := int64(math.MaxInt64)
	for name, amount := range requests {
		n = min(n, available(name)/amount)
	}
	return n
}

// placeable returns how many of the unbound ranks can be placed on what is available on their nodes:
// Node.Free, or Node.allocatable as if the nodes were empty. For one role the number is exact. Of several
// roles the one with the largest ranks is placed first, which may miss a solution that a search would find.
func placeable(roles []roleCapacity, available func(Node, corev1.ResourceName) int64) int64 {
	roles = slices.Clone(roles)
	slices.SortStableFunc(roles, func(a, b roleCapacity) int {
		name := mostImportant(a.requests)
		return cmp.Compare(b.requests[name], a.requests[name])
	})
	taken := map[string]Amounts{}
	var placed int64
	for _, r := range roles {
		left := r.unbound
		for _, n := range r.accepting {
			if left == 0 {
				break
			}
			remaining := func(
				name corev1.ResourceName,
			) int64 {
				return available(n, name) - taken[n.Name][name]
			}
			k := min(left, ranksThatFit(remaining, r.requests))
			if k <= 0 {
				continue
			}
			left -= k
			if taken[n.Name] == nil {
				taken[n.Name] = Amounts{}
			}
			for name, amount := range r.requests {
				taken[n.Name][name] += k * amount
			}
		}
		placed += r.unbound - left
	}
	return placed
}

// demand returns the unbound ranks of all roles, what they request in total, and the nodes that accept any of
// them.
func demand(roles []roleCapacity) (ranks int64, requests Amounts, nodes []Node) {
	requests = Amounts{}
	seen := map[string]bool{}
	for _, r := range roles {
		ranks += r.unbound
		for name, amount := range r.requests {
			requests[name] += r.unbound * amount
		}
		for _, n := range r.accepting {
			if !seen[n.Name] {
				seen[n.Name] = true
				nodes = append(nodes, n)
			}
		}
	}
	return ranks, requests, nodes
}

// shortResource returns the resource of which too little is free: on all nodes together, else on any one
// node, else the most important one.
func shortResource(roles []roleCapacity, requests Amounts, nodes []Node) corev1.ResourceName {
	for _, name := range ByImportance(requests) {
		if requests[name] > TotalFree(nodes, name) {
			return name
		}
	}
	for _, r := range roles {
		for _, name := range ByImportance(r.requests) {
			if r.requests[name] > LargestFree(r.accepting, name) {
				return name
			}
		}
	}
	return mostImportant(requests)
}
