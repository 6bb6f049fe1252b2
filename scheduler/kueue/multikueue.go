package kueue

import (
	"time"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// elsewherePatience is how long an evicted Workload of a dispatched gang keeps its quota for ranks that still
// run in another cluster. MultiKueue deletes the job there as soon as the quota is handed back, and with it
// the time in which the gang saves. After that the mirrored status is believed to be that of a cluster that
// is lost: the ranks there are held to the quota of their own cluster, not to this one's.
const elsewherePatience = 5 * time.Minute

// waitsForOtherCluster reports whether the quota of an evicted Workload is still in use in another cluster.
func waitsForOtherCluster(wl *kueuev1beta2.Workload, status scheduler.GangStatus) bool {
	c := conditionOf(wl, kueuev1beta2.WorkloadEvicted)
	return status.Elsewhere > 0 && c != nil && status.Now.Sub(c.LastTransitionTime.Time) < elsewherePatience
}
