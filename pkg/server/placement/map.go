package placement

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Viewer is who looks at a map, as far as the cluster lets them.
type Viewer struct {
	// ListsNodes reports whether they may list nodes.
	ListsNodes bool
	// Sees reports whether they may list the TrainingJobs of a namespace.
	Sees func(namespace string) bool
}

// NewViewer is who may list some jobs: in the namespaces of these. Of others that they may see there are no
// jobs to be shown.
func NewViewer(listsNodes bool, visible []*v1alpha1.TrainingJob) Viewer {
	seen := map[string]bool{}
	for _, j := range visible {
		seen[j.Namespace] = true
	}
	return Viewer{ListsNodes: listsNodes, Sees: func(namespace string) bool { return seen[namespace] }}
}

// Map of a cluster, as one viewer may see it.
type Map struct {
	// Version is that of the snapshot.
	Version uint64
	// NodesKnown reports whether Groups are all nodes that have GPUs or ranks, with what they have. Otherwise
	// they are the nodes that the statuses of jobs name: what is on them of others is not known, and no number
	// of GPUs is.
	NodesKnown bool
	// HoldersKnown reports whether it is known who holds which GPU. Otherwise no node has holders, and nothing
	// is known of Used, Free and Unusable.
	HoldersKnown bool
	// Groups of nodes, by kind of GPU and where they are.
	Groups []Group
	// Gangs that the viewer may see and that hold something, those with most GPUs first.
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
	// Used by anybody; Other of them by whom the viewer may not see, and by pods that are no ranks.
	Used, Other int64
	// Free ones can be had. Unusable ones are free and cannot, or do not work.
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

// Group of nodes that have the same kind of GPU and are at the same location.
type Group struct {
	// Kind of GPU; empty where it is not known, or the nodes have none.
	Kind string
	// DomainKey is the label that names the location, Domain what it says; empty where there is none.
	DomainKey, Domain string
	Totals            Totals
	// Nodes by name.
	Nodes []NodeUse
}

// Reason why GPUs of a node cannot be had, or are not as they should be.
type Reason string

// Reasons.
const (
	NotReady Reason = "NotReady"
	Cordoned Reason = "Cordoned"
	// NotOffered: some do not work, as the device plugin says.
	NotOffered Reason = "NotOffered"
	// Gone: the node exists no more, or has not been seen yet; its pods do.
	Gone Reason = "Gone"
	// Overcommitted: more are held than pods can have. Those that are held may not work.
	Overcommitted Reason = "Overcommitted"
)

// NodeUse is a node and who holds its GPUs. Used, Free and Unusable add up to GPUs.
type NodeUse struct {
	Name                       string
	GPUs, Used, Free, Unusable int64
	Reasons                    []Reason
	// Holders by gang; whom the viewer may not see is one, which comes last.
	Holders []Holder
}

// Holder of GPUs of a node, or who has a rank there without any.
type Holder struct {
	// Gang is an index of Map.Gangs; -1 for whom the viewer may not see.
	Gang int
	GPUs int64
	// Ranks by role and index. None are known of whom the viewer may not see.
	Ranks []Rank
}

// Gang that holds something.
type Gang struct {
	UID             types.UID
	Namespace, Name string
	// Phase of its job; empty where that is not known yet, or no more.
	Phase v1alpha1.Phase
	// GPUs that it holds; where nodes are not known, those that its job requests.
	GPUs  int64
	Nodes int
	// More reports whether it may be on more nodes than are known: a status names at most 100.
	More bool
}

// Waiting is a gang that waits.
type Waiting struct {
	UID             types.UID
	Namespace, Name string
	Phase           v1alpha1.Phase
	// GPUs that it requests; 0 also where the operator has not looked at it yet.
	GPUs    int64
	Created time.Time
	// Reason why it waits, in one word; empty where none is known.
	Reason string
}

// Find returns a node of the map, and nil where it has none of that name.
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
