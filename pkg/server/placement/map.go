package placement

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Viewer is the rights of a user in a cluster.
type Viewer struct {
	// ListsNodes reports whether the user may list nodes.
	ListsNodes bool
	// Sees reports whether the user may list the TrainingJobs of a namespace.
	Sees func(namespace string) bool
}

// NewViewer returns a viewer who sees the namespaces of the visible jobs. Other namespaces have no jobs to
// show.
func NewViewer(listsNodes bool, visible []*v1alpha1.TrainingJob) Viewer {
	seen := map[string]bool{}
	for _, j := range visible {
		seen[j.Namespace] = true
	}
	return Viewer{ListsNodes: listsNodes, Sees: func(namespace string) bool { return seen[namespace] }}
}

// Map of a cluster for one viewer.
type Map struct {
	// Version is that of the snapshot.
	Version uint64
	// NodesKnown reports whether Groups are all nodes that have GPUs or ranks. Otherwise Groups are the nodes
	// that the statuses of jobs name, without numbers of GPUs and without other holders.
	NodesKnown bool
	// HoldersKnown reports whether the holders of GPUs are known. Otherwise no node has holders, and Used,
	// Free and Unusable are unknown.
	HoldersKnown bool
	// Groups of nodes, by kind of GPU and location.
	Groups []Group
	// Gangs that the viewer may see and that hold ranks or GPUs, those with most GPUs first.
	Gangs  []Gang
	Totals Totals
	// Waiting are the gangs that the viewer may see and that wait for GPUs, the oldest first.
	Waiting  []Waiting
	Problems []Problem
}

// Totals of GPUs. Used, Free and Unusable add up to GPUs.
type Totals struct {
	// Nodes that have GPUs or ranks.
	Nodes int
	GPUs  int64
	// Used GPUs. Other is the part of hidden gangs and of pods that are not ranks.
	Used, Other int64
	// Free GPUs can be allocated. Unusable ones are not used and cannot be allocated.
	Free, Unusable int64
}

func (t *Totals) add(n *NodeUse) {
	t.Nodes++
	t.GPUs += n.GPUs
	t.Used += n.Used
	t.Free += n.Free
	t.Unusable += n.Unusable
	for _, h := range n.Holders {
		if h.Gang < 0 {
			t.Other += h.GPUs
		}
	}
}

// Group of nodes with the same kind of GPU and location.
type Group struct {
	// Kind of GPU; empty if unknown or without GPUs.
	Kind string
	// DomainKey is the label that names the location, Domain its value; empty if there is none.
	DomainKey, Domain string
	Totals            Totals
	// Nodes by name.
	Nodes []NodeUse
}

// Reason why GPUs of a node are unusable or in doubt.
type Reason string

// Reasons.
const (
	NotReady Reason = "NotReady"
	Cordoned Reason = "Cordoned"
	// NotOffered: the device plugin does not offer some of them.
	NotOffered Reason = "NotOffered"
	// Gone: the node is deleted or has not been seen yet; it has pods.
	Gone Reason = "Gone"
	// Overcommitted: pods hold more GPUs than are allocatable. Some may not work.
	Overcommitted Reason = "Overcommitted"
)

// NodeUse is a node and the holders of its GPUs. Used, Free and Unusable add up to GPUs.
type NodeUse struct {
	Name                       string
	GPUs, Used, Free, Unusable int64
	Reasons                    []Reason
	// Holders by gang; all hidden ones are one, which comes last.
	Holders []Holder
}

// Holder of GPUs or of ranks without GPUs on a node.
type Holder struct {
	// Gang is an index of Map.Gangs; -1 for hidden gangs and other pods.
	Gang int
	GPUs int64
	// Ranks by role and index; empty for hidden gangs.
	Ranks []Rank
}

// Gang that holds ranks or GPUs.
type Gang struct {
	UID             types.UID
	Namespace, Name string
	// Phase of its job; empty if unknown.
	Phase v1alpha1.Phase
	// GPUs that it holds; without known nodes, those that its job requests.
	GPUs  int64
	Nodes int
	// More reports whether it can be on more nodes than listed: a status names at most 100.
	More bool
}

// Waiting is a gang that waits.
type Waiting struct {
	UID             types.UID
	Namespace, Name string
	Phase           v1alpha1.Phase
	// GPUs that it requests; 0 also before the operator has set a status.
	GPUs    int64
	Created time.Time
	// Reason why it waits, in one word; empty if unknown.
	Reason string
}

// Find returns a node of the map, or nil.
func (m *Map) Find(node string) *NodeUse {
	for g := range m.Groups {
		nodes := m.Groups[g].Nodes
		for i := range nodes {
			if nodes[i].Name == node {
				return &nodes[i]
			}
		}
	}
	return nil
}

// Has reports whether a gang is on a node.
func (n *NodeUse) Has(gang int) bool {
	return slices.ContainsFunc(n.Holders, func(h Holder) bool { return h.Gang == gang })
}
