package scheduler

import (
	"fmt"
	"strings"
)

// claimMissing explains that a PersistentVolumeClaim does not exist.
func claimMissing(w *waitingGang) (Explanation, bool) {
	for _, claim := range w.cluster.Claims {
		if !claim.Exists {
			return Explanation{
				Reason: ReasonVolumeUnbound, Object: "persistentvolumeclaims/" + claim.Name,
				Message: fmt.Sprintf("volume claim %s does not exist in namespace %s", claim.Name,
					w.gang.Namespace),
				NextStep: fmt.Sprintf("create claim %s, or name another one in the job's volumes",
					claim.Name),
			}, true
		}
	}
	return Explanation{}, false
}

// claimUnbound explains that a PersistentVolumeClaim is not bound. It comes after the reasons about nodes: a
// claim whose storage class binds on first use stays unbound while its pod waits for any reason.
func claimUnbound(w *waitingGang) (Explanation, bool) {
	if !w.verdict.Judged || w.verdict.Reason == "" {
		return Explanation{}, false
	}
	capacity := strings.TrimSuffix(w.capacityText(), ",")
	for _, claim := range w.cluster.Claims {
		if !claim.Bound {
			return Explanation{
				Reason: ReasonVolumeUnbound, Object: "persistentvolumeclaims/" + claim.Name,
				Message: fmt.Sprintf("%s, but volume claim %s is not bound", capacity, claim.Name),
				NextStep: fmt.Sprintf("kubectl describe pvc %s -n %s says what the volume waits for: "+
					"a storage class, a provisioner or a matching volume", claim.Name, w.gang.Namespace),
			}, true
		}
	}
	return Explanation{}, false
}
