package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// roleCapacity is the unmet need of one role, and the nodes that may provide it.
type roleCapacity struct {
	role Role
	// requests of one rank that the nodes show, and devices that a DeviceClass serves.
	requests, devices Amounts
	// unbound is how many of the role's MinAvailable ranks are not bound to a node; above 0.
	unbound int64
	// matching nodes are allowed by selector and affinity; accepting are those of them that accept new pods.
	matching, accepting nodeSet
}

// withPlacement returns the gang with the verdict's additions to its pods: the flavour of an admitted gang
// selects its nodes and tolerates their taints.
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
		requests, devices := s.split(role.Requests())
		roles = append(roles, roleCapacity{
			role: role, requests: requests, devices: devices, unbound: int64(unbound),
			matching: s.matching(spec), accepting: s.accepting(spec),
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

// availability is the part of a node's capacity that counts.
type availability string

const (
	availableNow       availability = "now"        // what the pods leave
	availableWhenEmpty availability = "when empty" // as if there were no pods
)

func (a availability) on(n Node, name corev1.ResourceName) int64 {
	if a == availableWhenEmpty {
		return n.allocatable(name)
	}
	return n.Free(name)
}

// placeable returns how many of the unbound ranks fit on their nodes. For one role the number is exact. With
// several roles the one with the largest ranks is placed first, which may miss a solution.
func placeable(roles []roleCapacity, in availability) int64 {
	if len(roles) == 0 {
		return 0
	}
	var key strings.Builder
	fmt.Fprint(&key, "placeable ", in)
	for _, r := range roles {
		fmt.Fprintf(&key, "; %d of", r.unbound)
		for _, name := range ByImportance(r.requests) {
			fmt.Fprintf(&key, " %d %s", r.requests[name], name)
		}
		fmt.Fprint(&key, " on ", r.accepting.key)
	}
	return share(roles[0].accepting.shared, key.String(), func() int64 { return place(roles, in) })
}

func place(roles []roleCapacity, in availability) int64 {
	roles = slices.Clone(roles)
	slices.SortStableFunc(roles, func(a, b roleCapacity) int {
		name := mostImportant(a.requests)
		return cmp.Compare(b.requests[name], a.requests[name])
	})
	taken := map[string]Amounts{}
	var placed int64
	for _, r := range roles {
		left := r.unbound
		for _, n := range r.accepting.nodes {
			if left == 0 {
				break
			}
			remaining := func(name corev1.ResourceName) int64 { return in.on(n, name) - taken[n.Name][name] }
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

// demand returns the unbound ranks of all roles, their total requests, and the nodes that accept any of them.
func demand(roles []roleCapacity) (ranks int64, requests Amounts, nodes nodeSet) {
	requests = Amounts{}
	sets := make([]nodeSet, 0, len(roles))
	for _, r := range roles {
		sets = append(sets, r.accepting)
		ranks += r.unbound
		for name, amount := range r.requests {
			requests[name] += r.unbound * amount
		}
	}
	return ranks, requests, union(sets)
}

// shortResource returns the resource with too little free: on all nodes together, else on any one node, else
// the most important one.
func shortResource(roles []roleCapacity, requests Amounts, nodes nodeSet) corev1.ResourceName {
	for _, name := range ByImportance(requests) {
		if requests[name] > nodes.sums(name).free {
			return name
		}
	}
	for _, r := range roles {
		for _, name := range ByImportance(r.requests) {
			if r.requests[name] > r.accepting.sums(name).largestFree {
				return name
			}
		}
	}
	return mostImportant(requests)
}
