package decision

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// forceDelete deletes pods by force whose deletion hangs on a node that does not answer, if the admin allows
// it. It is not needed for a node that an admin taints with node.kubernetes.io/out-of-service: Kubernetes
// deletes its pods by force (pkg/controller/podgc, gcTerminating, 1.37).
func forceDelete(o *observation.Observation, p *Plan) {
	after := o.Lifecycle.ForceDelete
	if after <= 0 {
		return
	}
	for _, pod := range o.Pods {
		if !o.OnLostNode(pod) {
			continue
		}
		if at := pod.DeletionTimestamp.Add(after); o.Now.Before(at) {
			p.WakeAt(at)
			continue
		}
		why := fmt.Sprintf("node %s has not answered for %s after its grace period", pod.Spec.NodeName, after)
		p.Delete = append(p.Delete, PodDeletion{Pod: pod, Why: why, Force: true})
		p.Note("delete %s by force: %s", pod.Name, why)
	}
}
