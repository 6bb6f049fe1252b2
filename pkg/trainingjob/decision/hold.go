package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// HeldBack explains why a queued gang has no pods although its scheduler would take them: no node can ever
// take one of its ranks, and pods that wait in vain hold quota that others could use. A gang of which a rank
// has a node is not held back.
func HeldBack(o *observation.Observation) (scheduler.Explanation, bool) {
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Unplaceable == nil || o.Placed() > 0 {
		return scheduler.Explanation{}, false
	}
	return o.Unplaceable()
}
