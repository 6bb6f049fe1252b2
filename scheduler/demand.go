package scheduler

import (
	"cmp"
	"slices"
)

// Demand is the unplaced ranks of one role that the gang cannot start without.
type Demand struct {
	// Ranks without a node; above 0.
	Ranks int64
	// Requests of one of them.
	Requests Amounts
	// Nodes that accept new pods of the role, by selector, node affinity and taints.
	Nodes []Node
}

// Domain is a group of nodes that may take all unplaced ranks of a gang.
type Domain struct {
	// Name is the value of the label Gang.Within.
	Name  string
	Nodes []string
}

// maxDomains bounds the domains in which the operator searches victims for one gang.
const maxDomains = 32

// Domains returns the domains that could take a gang's unplaced ranks if their nodes were empty, those with
// the most free first, at most maxDomains. It is nil for a gang that need not lie within one.
func (s ClusterState) Domains(g Gang) []Domain {
	if g.Within == "" {
		return nil
	}
	roles := s.capacity(g)
	_, requests, _ := demand(roles)
	name := mostImportant(requests)
	all, _ := domainsOf(roles, g.Within)
	all = slices.DeleteFunc(all, func(d domain) bool { return !d.canHold() })
	slices.SortStableFunc(all, func(a, b domain) int {
		return cmp.Compare(b.nodes.sums(name).free, a.nodes.sums(name).free)
	})
	domains := []Domain{}
	for _, d := range all[:min(len(all), maxDomains)] {
		domain := Domain{Name: d.name}
		for _, n := range d.nodes.nodes {
			domain.Nodes = append(domain.Nodes, n.Name)
		}
		domains = append(domains, domain)
	}
	return domains
}

// Demands returns the demands of a gang by role. It does not consider pod affinity and topology spread
// constraints.
func (s ClusterState) Demands(g Gang) []Demand {
	var demands []Demand
	for _, r := range s.capacity(g) {
		demands = append(demands, Demand{Ranks: r.unbound, Requests: r.requests, Nodes: r.accepting.nodes})
	}
	return demands
}
