package kueue

import (
	"time"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// elsewherePatience is how long an evicted Workload of a dispatched gang keeps its quota for ranks that still
// run in another cluster. When the quota is released, MultiKueue deletes the job there without time to save.
// After this time the operator assumes that the other cluster is lost; its ranks then count only against the
// quota of their own cluster.
const elsewherePatience = 5 * time.Minute

// waitsForOtherCluster reports whether the quota of an evicted Workload is still in use in another cluster.
func waitsForOtherCluster(wl *kueuev1beta2.Workload, status scheduler.GangStatus) bool {
	c := conditionOf(wl, kueuev1beta2.WorkloadEvicted)
	return status.Elsewhere > 0 && c != nil && status.Now.Sub(c.LastTransitionTime.Time) < elsewherePatience
}
