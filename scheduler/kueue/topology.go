package kueue

import (
	"encoding/json"
	"slices"
	"strconv"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// topologyAnnotations are the pod annotations that form a role's topology request.
var topologyAnnotations = []string{
	kueuev1beta2.PodSetRequiredTopologyAnnotation,
	kueuev1beta2.PodSetPreferredTopologyAnnotation,
	kueuev1beta2.PodSetUnconstrainedTopologyAnnotation,
	kueuev1beta2.PodSetSliceRequiredTopologyAnnotation,
	kueuev1beta2.PodSetSliceSizeAnnotation,
	kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation,
	kueuev1beta2.PodSetGroupName,
}

// withinGroup is the name of the group of a leader and its workers that must lie within one domain.
const withinGroup = "gang"

// topologyWithin returns the annotations of each role of a gang that must lie within one domain. Kueue places
// pod sets one by one, but for a pair that has a group.
func topologyWithin(g scheduler.Gang) map[string]string {
	all := map[string]string{kueuev1beta2.PodSetRequiredTopologyAnnotation: g.Within}
	if len(rolesWithRanks(g)) > 1 {
		all[kueuev1beta2.PodSetGroupName] = withinGroup
	}
	return all
}

func rolesWithRanks(g scheduler.Gang) []scheduler.Role {
	return slices.DeleteFunc(slices.Clone(g.Roles), func(r scheduler.Role) bool { return r.Replicas == 0 })
}

// topologyOf returns the topology annotations of a role: those of a required domain, else those of its pods,
// else the job's own, since a job in the simple form has no pod template. In a job with several roles the
// job's own would be ambiguous, so Validate refuses them.
func topologyOf(g scheduler.Gang, r scheduler.Role) map[string]string {
	if g.Within != "" {
		return topologyWithin(g)
	}
	if r.Template != nil {
		if found := topologyIn(r.Template.Annotations); len(found) > 0 {
			return found
		}
	}
	return topologyIn(g.JobAnnotations)
}

func topologyIn(annotations map[string]string) map[string]string {
	found := map[string]string{}
	for _, key := range topologyAnnotations {
		if value, ok := annotations[key]; ok {
			found[key] = value
		}
	}
	return found
}

// topologyRequest returns the topology request of a role from its pods' annotations, as Kueue's job
// integrations do (pkg/controller/jobframework/tas.go). It always names the index label: a flavor with a
// topology also assigns nodes to a role that requests none, and then in the order of the ranks.
func topologyRequest(annotations map[string]string) *kueuev1beta2.PodSetTopologyRequest {
	request := &kueuev1beta2.PodSetTopologyRequest{PodIndexLabel: new(replicaIndexLabel)}
	required, isRequired := annotations[kueuev1beta2.PodSetRequiredTopologyAnnotation]
	preferred, isPreferred := annotations[kueuev1beta2.PodSetPreferredTopologyAnnotation]
	switch {
	case isRequired:
		request.Required = &required
	case isPreferred:
		request.Preferred = &preferred
	default:
		free, err := strconv.ParseBool(annotations[kueuev1beta2.PodSetUnconstrainedTopologyAnnotation])
		if err == nil {
			request.Unconstrained = &free
		}
	}
	if layers, ok := annotations[kueuev1beta2.PodSetSliceRequiredTopologyConstraintsAnnotation]; ok {
		var constraints []kueuev1beta2.PodsetSliceRequiredTopologyConstraint
		if json.Unmarshal([]byte(layers), &constraints) == nil { // Validate refuses other values
			request.PodsetSliceRequiredTopologyConstraints = constraints
		}
	} else if slice, ok := annotations[kueuev1beta2.PodSetSliceRequiredTopologyAnnotation]; ok {
		size, err := strconv.ParseInt(annotations[kueuev1beta2.PodSetSliceSizeAnnotation], 10, 32)
		if err == nil {
			request.PodSetSliceRequiredTopology, request.PodSetSliceSize = &slice, new(int32(size))
		}
	}
	if group, ok := annotations[kueuev1beta2.PodSetGroupName]; ok && (isRequired || isPreferred) {
		request.PodSetGroupName = &group
	}
	return request
}
