package liveness

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	// maxNamedNodes in the status.
	maxNamedNodes = 8
	// excludedAfter hangs that named a node.
	excludedAfter = 2
	// MaxExcluded nodes of a job at the same time, of its eight exclusions.
	MaxExcluded = 2
)

// NamedNode returns the node that a hang names: strong evidence points to ranks of this node alone. Empty:
// none.
func (v Verdict) NamedNode() string {
	if v.State != v1alpha1.LivenessHung || !v.Strong {
		return ""
	}
	return v.Node
}

// NameNode adds a node to those that hangs of a job have named, and keeps the last eight. The caller passes
// the node's name and the time. It is called once for each hang: by the write that begins the drain, or when
// the hang ends in another way.
func NameNode(named []v1alpha1.NamedNode, node v1alpha1.NamedNode) []v1alpha1.NamedNode {
	node.Times = 1
	all := slices.Clone(named)
	if i := slices.IndexFunc(all, func(n v1alpha1.NamedNode) bool { return n.Name == node.Name }); i >= 0 {
		node.Times += all[i].Times
		all = slices.Delete(all, i, i+1)
	}
	all = append(all, node)
	return all[max(0, len(all)-maxNamedNodes):]
}

// ExcludeNode reports whether the job keeps off a node after a hang that named it: another hang of the job
// named it before, and fewer than two nodes are excluded for hangs. It takes the result of NameNode, and the
// number of the job's exclusions for hangs that have not expired.
func ExcludeNode(named []v1alpha1.NamedNode, node string, excluded int) bool {
	return excludeNode(named, node, excluded, allRules)
}

func excludeNode(named []v1alpha1.NamedNode, node string, excluded int, on rules) bool {
	if node == "" || on.has(fewNodes) && excluded >= MaxExcluded {
		return false
	}
	return slices.ContainsFunc(named, func(n v1alpha1.NamedNode) bool {
		return n.Name == node && (n.Times >= excludedAfter || !on.has(nodesNamedTwice))
	})
}
