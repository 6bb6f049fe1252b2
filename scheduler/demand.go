package scheduler

// Demand is what the ranks of one role need that have no node, of those without which their gang cannot
// start.
type Demand struct {
	// Ranks that have no node; above 0.
	Ranks int64
	// Requests of one of them.
	Requests Amounts
	// Nodes that take new pods of theirs, by what their selector, their affinity to nodes and the taints say.
	Nodes []Node
}

// Demands of a gang, by role. What affinity to other pods and topology spread constraints ask for is not
// among them.
func (s ClusterState) Demands(g Gang) []Demand {
	var demands []Demand
	for _, r := range s.capacity(g) {
		demands = append(demands, Demand{Ranks: r.unbound, Requests: r.requests, Nodes: r.accepting.nodes})
	}
	return demands
}
