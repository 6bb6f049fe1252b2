package scheduler

// Demand is the unplaced ranks of one role that the gang cannot start without.
type Demand struct {
	// Ranks without a node; above 0.
	Ranks int64
	// Requests of one of them.
	Requests Amounts
	// Nodes that accept new pods of the role, by selector, node affinity and taints.
	Nodes []Node
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
