package scheduler

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// domain is the nodes with one value of a label, for a gang that must lie within one of them.
type domain struct {
	name string
	// roles of the gang, each with the accepting nodes that are in the domain.
	roles []roleCapacity
	nodes nodeSet
}

// domainsOf returns the domains with nodes that accept some role, by name, and the number of accepting nodes
// without the label.
func domainsOf(roles []roleCapacity, key string) (domains []domain, unlabelled int) {
	byRole, names := make([]map[string]nodeSet, len(roles)), map[string]bool{}
	for i, r := range roles {
		byRole[i] = r.accepting.byLabel(key)
		for name := range byRole[i] {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := domain{name: name, roles: slices.Clone(roles)}
		for i := range d.roles {
			d.roles[i].accepting = byRole[i][name]
		}
		_, _, d.nodes = demand(d.roles)
		domains = append(domains, d)
	}
	_, _, all := demand(roles)
	for _, n := range all.nodes {
		if n.Labels[key] == "" {
			unlabelled++
		}
	}
	return domains, unlabelled
}

// byLabel returns the nodes with each value of a label. A node without the label is in none.
func (s nodeSet) byLabel(key string) map[string]nodeSet {
	return shareList(s.shared, "by "+key+" of "+s.key, func() map[string]nodeSet {
		sets := map[string]nodeSet{}
		for _, n := range s.nodes {
			value := n.Labels[key]
			if value == "" {
				continue
			}
			set, known := sets[value]
			if !known {
				set = nodeSet{key: s.key + " with " + key + "=" + value, shared: s.shared}
			}
			set.nodes = append(set.nodes, n)
			sets[value] = set
		}
		return sets
	})
}

// canHold reports whether the domain could take all unbound ranks if its nodes were empty. For several roles
// it may report true although it could not: see placeable.
func (d *domain) canHold() bool {
	if len(d.roles) == 1 {
		return placeable(d.roles, availableWhenEmpty) >= d.roles[0].unbound
	}
	for i := range d.roles {
		if placeable(d.roles[i:i+1], availableWhenEmpty) < d.roles[i].unbound {
			return false
		}
	}
	_, requests, _ := demand(d.roles)
	for name, n := range requests {
		if n > d.nodes.sums(name).allocatable {
			return false
		}
	}
	return true
}

// best returns the domain that takes most of the ranks; of equal ones that with most of a resource, then the
// first by name. There must be one.
func best(domains []domain, in availability, name corev1.ResourceName) *domain {
	has := func(d *domain) int64 {
		if in == availableWhenEmpty {
			return d.nodes.sums(name).allocatable
		}
		return d.nodes.sums(name).free
	}
	found := &domains[0]
	for i := range domains[1:] {
		d := &domains[i+1]
		ranks := cmp.Compare(placeable(d.roles, in), placeable(found.roles, in))
		if cmp.Or(ranks, cmp.Compare(has(d), has(found))) > 0 {
			found = d
		}
	}
	return found
}

// fitsDomain reports whether a gang that must lie within one domain fits into one now.
func (w *waitingGang) fitsDomain() bool {
	ranks, _, _ := demand(w.roles)
	domains, _ := domainsOf(w.roles, w.gang.Within)
	return slices.ContainsFunc(domains, func(d domain) bool { return placeable(d.roles, availableNow) >= ranks })
}
