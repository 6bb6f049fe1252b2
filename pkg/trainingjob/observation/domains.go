package observation

import "mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"

// Domains counts the ranks with nodes by the domain of their nodes; "" counts nodes without the label. It is
// nil if the job need not lie within one domain, and before enough ranks have nodes. A node that no longer
// exists does not count.
func (o *Observation) Domains() map[string]int32 {
	if spec.Within(o.Job) == "" || !o.EnoughPlaced() || o.SpecChanged() || o.SpecInvalid() {
		return nil
	}
	domains := map[string]int32{}
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.Pod == nil || r.Pod.Spec.NodeName == "" {
			continue
		}
		if node, exists := o.Nodes[r.Pod.Spec.NodeName]; exists {
			domains[node.Domain]++
		}
	}
	return domains
}
