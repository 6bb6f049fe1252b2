package scheduler

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Unplaceable explains that a rank which the gang cannot start without fits on no node, even on an empty one:
// it is too large, or a node selector, an affinity or a taint excludes all nodes. A gang that must lie within
// one domain may also exceed every domain. Only a change of the nodes
// or the job can help. It returns false in any doubt:
//
//   - No node is known, or not all of them are.
//   - A node that is cordoned, not ready or under pressure would do. Such a state passes.
//   - A DeviceClass serves the resource, or it is on no node at all, since an extender may provide it.
//   - The taint is one that admission may let the pods tolerate: it has the name of a resource that they
//     request (ExtendedResourceToleration), or they have a RuntimeClass, which may add tolerations.
func Unplaceable(g Gang, v Verdict, s ClusterState) (Explanation, bool) {
	if !s.Complete || len(s.Nodes) == 0 {
		return Explanation{}, false
	}
	g = withPlacement(g, v)
	for _, role := range g.Roles {
		unbound := role.MinAvailable - s.Bound[role.Name]
		if unbound <= 0 || role.Template == nil {
			continue
		}
		if e, unplaceable := s.unplaceableRole(role); unplaceable {
			return e, true
		}
	}
	return s.unplaceableWithin(g)
}

// unplaceableWithin is Unplaceable for a gang whose ranks must lie within one domain. Nodes in a state that
// passes count as if they accepted its ranks.
func (s ClusterState) unplaceableWithin(g Gang) (Explanation, bool) {
	if g.Within == "" {
		return Explanation{}, false
	}
	var roles []roleCapacity
	for _, role := range g.Roles {
		unbound := role.MinAvailable - s.Bound[role.Name]
		if unbound <= 0 || role.Template == nil {
			continue
		}
		requests := role.Requests()
		if !s.knowsAll(requests) {
			return Explanation{}, false
		}
		spec := &role.Template.Spec
		lasting := slices.DeleteFunc(s.MatchingNodes(spec), func(n Node) bool {
			return repelsForGood(n, spec, requests)
		})
		roles = append(roles, roleCapacity{
			role: role, requests: requests, unbound: int64(unbound),
			accepting: nodeSet{nodes: lasting, key: role.Name},
		})
	}
	return exceedsDomain(&waitingGang{gang: g, cluster: s, roles: roles})
}

// NotAdmissible explains that a gang cannot start with any number of nodes: its queue is missing, closed or
// smaller than the gang. The pods of such a gang would only make an autoscaler add nodes. The queue's own
// limits count, and not what the nodes have.
func NotAdmissible(
	b Backend, g Gang, bound map[string]int32, objects map[schema.GroupVersionKind][]client.Object,
) (Explanation, bool) {
	explainer := Of(b).Explainer
	if explainer == nil {
		return Explanation{}, false
	}
	e, explained := explainer.Explain(g, nil, ClusterState{Shared: &Shared{}, Objects: objects, Bound: bound})
	return e, explained && slices.Contains(notAdmissible, e.Reason)
}

var notAdmissible = []string{ReasonQueueNotFound, ReasonQueueClosed, ReasonExceedsQuota}

// unplaceableRole is Unplaceable for the ranks of one role. For a role that fits it mostly ends at the first
// node.
func (s ClusterState) unplaceableRole(role Role) (Explanation, bool) {
	spec, all := &role.Template.Spec, role.Requests()
	requests, _ := s.split(all)
	required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	r := roleCapacity{role: role, requests: requests}
	for _, n := range s.Nodes {
		if ok, err := required.Match(n.Node); !ok || err != nil {
			continue
		}
		r.matching.nodes = append(r.matching.nodes, n)
		if repelsForGood(n, spec, all) {
			continue
		}
		if ranksThatFit(n.allocatable, requests) > 0 {
			return Explanation{}, false
		}
		r.accepting.nodes = append(r.accepting.nodes, n)
	}
	switch {
	case len(r.accepting.nodes) == 0:
		return noNodeAccepts(r, len(s.Nodes)), true
	case s.knowsAll(requests):
		return rankTooLarge(r, s), true
	}
	return Explanation{}, false
}

// passingTaints are the prefixes of taints that control planes put on nodes in a temporary state, and of
// those of the cluster autoscaler on nodes that it removes.
var passingTaints = []string{
	"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler",
}

// repelsForGood reports whether a node has a taint that an admin set and the pods cannot tolerate.
func repelsForGood(n Node, spec *corev1.PodSpec, requests Amounts) bool {
	if spec.RuntimeClassName != nil || len(n.Spec.Taints) == 0 {
		return false
	}
	lasting := &corev1.Node{}
	for _, t := range n.Spec.Taints {
		_, requested := requests[corev1.ResourceName(t.Key)]
		passing := slices.ContainsFunc(passingTaints, func(prefix string) bool {
			return strings.HasPrefix(t.Key, prefix)
		})
		if !requested && !passing {
			lasting.Spec.Taints = append(lasting.Spec.Taints, t)
		}
	}
	_, repels := Node{Node: lasting}.Taint(spec)
	return repels
}

// knowsAll reports whether each of the resources is on some node, and no DeviceClass serves it.
func (s ClusterState) knowsAll(requests Amounts) bool {
	for name := range requests {
		if _, served := s.DeviceClassOf(name); served || largestNode(s.Nodes, name) == 0 {
			return false
		}
	}
	return true
}
