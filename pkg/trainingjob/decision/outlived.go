package decision

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// endSucceeded deletes the pods of ranks that have succeeded while other containers of them run on: they hold
// their nodes for nothing.
func endSucceeded(o *observation.Observation, p *Plan) {
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.State == observation.RankSucceeded && r.Outlived() && !keeps(o, p, r) {
			p.deletePod(r.Pod, "its trainer has exited 0")
		}
	}
}

// endLive deletes all live pods, except for those that the operator keeps.
func endLive(o *observation.Observation, p *Plan, why string) {
	var kept []*corev1.Pod
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.Outlived() && keeps(o, p, r) {
			kept = append(kept, r.Pod)
		}
	}
	for _, pod := range o.Live {
		if !slices.Contains(kept, pod) {
			p.deletePod(pod, why)
		}
	}
}

// keeps reports whether the operator keeps the pod of a rank that has ended: for a moment, since the pod may
// end by itself, and until the status lists a success, which is lost with the pod.
func keeps(o *observation.Observation, p *Plan, r *observation.Rank) bool {
	if until := o.EndsAloneUntil(r); o.Now.Before(until) {
		p.WakeAt(until)
		return true
	}
	return o.MustRemember(r) && !o.Job.Status.Phase.Finished()
}
