package decision

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// A node whose kubelet rejects a rank is excluded for the job for exclusionTime. At most mostExcluded nodes
// are excluded, so that a mistake in the job does not exclude all nodes.
const (
	exclusionTime = 10 * time.Minute
	mostExcluded  = 8
)

// excludeNodes adds the nodes that rejected ranks of the attempt. It is part of the write that settles a
// drained attempt.
func excludeNodes(o *observation.Observation, p *Plan) {
	until := metav1.NewTime(o.Time().Add(exclusionTime))
	for _, r := range o.RejectedBy() {
		if p.Status.Disruptions == nil {
			p.Status.Disruptions = &v1alpha1.DisruptionStatus{}
		}
		d := p.Status.Disruptions
		d.ExcludedNodes = slices.DeleteFunc(d.ExcludedNodes,
			func(e v1alpha1.ExcludedNode) bool { return e.Name == r.Node })
		d.ExcludedNodes = append(d.ExcludedNodes,
			v1alpha1.ExcludedNode{Name: r.Node, Reason: r.Reason, Until: until})
		if n := len(d.ExcludedNodes); n > mostExcluded {
			d.ExcludedNodes = slices.Delete(d.ExcludedNodes, 0, n-mostExcluded)
		}
	}
}

// readmitNodes removes expired exclusions. It reports whether there was one.
func readmitNodes(o *observation.Observation, p *Plan) bool {
	d := p.Status.Disruptions
	if d == nil {
		return false
	}
	before := len(d.ExcludedNodes)
	d.ExcludedNodes = slices.DeleteFunc(d.ExcludedNodes,
		func(e v1alpha1.ExcludedNode) bool { return !o.Now.Before(e.Until.Time) })
	over := len(d.ExcludedNodes) < before
	if len(d.ExcludedNodes) == 0 {
		d.ExcludedNodes = nil
		if d.InARow == 0 {
			p.Status.Disruptions = nil
		}
	}
	return over
}

// renewWaiting deletes queued ranks that avoid nodes which are no longer excluded. A later reconcile creates
// them without that affinity, since a pod's affinity cannot be changed. It reports whether nothing may be
// created now. Ranks that join a placed gang avoid those nodes until the next attempt.
func renewWaiting(o *observation.Observation, p *Plan) bool {
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Placed() > 0 {
		return false
	}
	if readmitNodes(o, p) {
		p.deletePods(o.Live, "it avoids nodes that are no longer excluded")
		return true
	}
	if d := o.Job.Status.Disruptions; d != nil {
		for _, e := range d.ExcludedNodes {
			p.WakeAt(e.Until.Time)
		}
	}
	return false
}
