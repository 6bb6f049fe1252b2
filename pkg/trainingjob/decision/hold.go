package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// HeldBack explains why a queued gang has no pods although its scheduler admits it: no node can ever take one
// of its ranks, its queue cannot take the gang, or the scheduler cannot keep what it requires. Its waiting
// pods would hold quota that other gangs could use, and an autoscaler would add nodes for them. It returns
// false once a rank has a node.
func HeldBack(o *observation.Observation) (scheduler.Explanation, bool) {
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Placed() > 0 {
		return scheduler.Explanation{}, false
	}
	if e, notServed := o.Gang.NotServed(); notServed {
		return e, true
	}
	if o.Unplaceable == nil {
		return scheduler.Explanation{}, false
	}
	return o.Unplaceable()
}
