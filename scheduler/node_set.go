package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// nodeSet is a list of nodes for pods with the same constraints, computed once.
type nodeSet struct {
	nodes []Node
	// key names the set in shared.
	key    string
	shared *Shared
}

// sums of one resource over the nodes of a set; each is 0 without nodes.
type sums struct {
	// free is what the nodes' pods leave, largestFree the most of it on one node.
	free, largestFree int64
	// allocatable is what the nodes have when they are empty, largest the most of it on one node.
	allocatable, largest int64
}

func (s nodeSet) sums(name corev1.ResourceName) sums {
	return share(s.shared, fmt.Sprintf("sums %s of %s", name, s.key), func() sums {
		var all sums
		for _, n := range s.nodes {
			free, allocatable := n.Free(name), n.Allocatable[name]
			all.free += free
			all.largestFree = max(all.largestFree, free)
			all.allocatable += allocatable
			all.largest = max(all.largest, allocatable)
		}
		return all
	})
}

// constraints returns the key of everything in a spec that restricts its nodes.
func constraints(spec *corev1.PodSpec) string {
	var required *corev1.NodeSelector
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		required = spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if len(spec.NodeSelector) == 0 && required == nil && len(spec.Tolerations) == 0 {
		return "any"
	}
	key, err := json.Marshal([]any{spec.NodeSelector, required, spec.Tolerations})
	if err != nil { // not of these types
		panic(err)
	}
	return string(key)
}

// matching returns the nodes that selector and affinity of the spec allow, and accepting those of them that
// accept new pods of the spec.
func (s ClusterState) matching(spec *corev1.PodSpec) nodeSet {
	key := "matching " + constraints(spec)
	return nodeSet{key: key, shared: s.Shared, nodes: shareList(s.Shared, key, func() []Node {
		return s.MatchingNodes(spec)
	})}
}

func (s ClusterState) accepting(spec *corev1.PodSpec) nodeSet {
	key := "accepting " + constraints(spec)
	return nodeSet{key: key, shared: s.Shared, nodes: shareList(s.Shared, key, func() []Node {
		return AcceptingNodes(s.matching(spec).nodes, spec)
	})}
}

// union of sets, without duplicates.
func union(sets []nodeSet) nodeSet {
	if len(sets) == 0 {
		return nodeSet{}
	}
	var keys []string
	for _, set := range sets {
		if !slices.Contains(keys, set.key) {
			keys = append(keys, set.key)
		}
	}
	all := nodeSet{key: strings.Join(keys, " and "), shared: sets[0].shared, nodes: sets[0].nodes}
	if len(keys) == 1 {
		return all
	}
	all.nodes = shareList(all.shared, all.key, func() []Node {
		var nodes []Node
		seen := map[string]bool{}
		for _, set := range sets {
			for _, n := range set.nodes {
				if !seen[n.Name] {
					seen[n.Name] = true
					nodes = append(nodes, n)
				}
			}
		}
		return nodes
	})
	return all
}

// Allocatable returns what all nodes together have of a resource when they are empty.
func (s ClusterState) Allocatable(name corev1.ResourceName) int64 {
	return nodeSet{key: "all nodes", shared: s.Shared, nodes: s.Nodes}.sums(name).allocatable
}
