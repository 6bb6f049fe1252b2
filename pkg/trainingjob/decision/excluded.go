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
	// excludedSoon is how long the write of an exclusion takes.
	excludedSoon = time.Second
)

// excludeNodes adds the nodes that rejected ranks of the attempt or that its hang named. It is part of the
// write that settles a drained attempt.
func excludeNodes(o *observation.Observation, p *Plan) {
	exclude(o, p, o.RejectedBy())
	excludeNamed(o, p)
}

// ExcludeNodes adds the nodes that rejected ranks of a gang that continues without them, and removes expired
// exclusions. It reports whether it changed the status, which is written before the ranks are replaced.
func ExcludeNodes(o *observation.Observation, p *Plan) bool {
	phase := o.Job.Status.Phase
	if o.Scope != v1alpha1.ScopeRank || phase != v1alpha1.PhaseStarting && phase != v1alpha1.PhaseRunning {
		return false
	}
	rejected := slices.DeleteFunc(o.RejectedBy(),
		func(r observation.RejectedBy) bool { return isExcluded(o, r.Node) })
	rejected = rejected[:min(len(rejected), max(0, mostExcluded-len(currentlyExcluded(o))))]
	expired := readmitNodes(o, p)
	exclude(o, p, rejected)
	return expired || len(rejected) > 0
}

// isExcluded reports whether the status has an exclusion of the node.
func isExcluded(o *observation.Observation, node string) bool {
	return slices.ContainsFunc(currentlyExcluded(o),
		func(e v1alpha1.ExcludedNode) bool { return e.Name == node })
}

// currentlyExcluded returns the exclusions in the status that have not expired.
func currentlyExcluded(o *observation.Observation) []v1alpha1.ExcludedNode {
	d := o.Job.Status.Disruptions
	if d == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.ExcludedNodes),
		func(e v1alpha1.ExcludedNode) bool { return expired(o, e) })
}

func expired(o *observation.Observation, e v1alpha1.ExcludedNode) bool {
	return !o.Now.Before(e.Until.Time)
}

// ReplacesAt returns when a rank that its node rejected is created again: 10 s after the rejection, doubling
// to 6 min with each other excluded node, and not before the node is excluded, if it can be.
func ReplacesAt(o *observation.Observation, r *observation.Rank) (at time.Time, rejected bool) {
	by, rejected := r.RejectedBy()
	if !rejected {
		return time.Time{}, false
	}
	n := len(currentlyExcluded(o))
	if n < mostExcluded && !isExcluded(o, by.Node) {
		return o.Now.Add(excludedSoon), true
	}
	return by.Time.Add(backoffDelay(int32(n))), true
}

func exclude(o *observation.Observation, p *Plan, rejected []observation.RejectedBy) {
	until := metav1.NewTime(o.Time().Add(exclusionTime))
	for _, r := range rejected {
		addExclusion(p, v1alpha1.ExcludedNode{Name: r.Node, Reason: r.Reason, Until: until})
	}
}

// addExclusion adds an exclusion, in place of an earlier one of the same node.
func addExclusion(p *Plan, excluded v1alpha1.ExcludedNode) {
	if p.Status.Disruptions == nil {
		p.Status.Disruptions = &v1alpha1.DisruptionStatus{}
	}
	d := p.Status.Disruptions
	d.ExcludedNodes = append(slices.DeleteFunc(d.ExcludedNodes,
		func(e v1alpha1.ExcludedNode) bool { return e.Name == excluded.Name }), excluded)
	if n := len(d.ExcludedNodes); n > mostExcluded {
		d.ExcludedNodes = slices.Delete(d.ExcludedNodes, 0, n-mostExcluded)
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
		func(e v1alpha1.ExcludedNode) bool { return expired(o, e) })
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
// created now.
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
