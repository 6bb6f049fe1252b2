package fakescheduler

import "time"

// Key identifies a namespaced object.
type Key struct{ Namespace, Name string }

// Node accepts pods. Snapshots leave out nodes that are cordoned, tainted or not ready.
type Node struct {
	Name string
	// GPUs is the allocatable number.
	GPUs int64
}

// Pod as the scheduler sees it. Pods of other schedulers have no Group and only occupy GPUs.
type Pod struct {
	Key
	UID  string
	Node string
	GPUs int64

	Group, Role string
	Attempt     int64

	Deleting, Succeeded, Failed bool
}

func (p Pod) ended() bool { return p.Succeeded || p.Failed }

// runs reports whether the pod is bound and neither ended nor asked to end.
func (p Pod) runs() bool { return p.Node != "" && !p.ended() && !p.Deleting }

// Share is what one role contributes to the gang's minimum.
type Share struct {
	Role string
	Min  int64
}

// Group as the scheduler sees it.
type Group struct {
	Key
	Created  time.Time
	Priority int32
	// Never is true if the gang does not preempt.
	Never   bool
	Attempt int64
	Shares  []Share
	// GPUs is the sum over the gang's minimum.
	GPUs   int64
	Status Status
}

func (g Group) minMember() int64 {
	var n int64
	for _, s := range g.Shares {
		n += s.Min
	}
	return n
}

// Phase of a group.
type Phase string

// The phases of a group; it has none until the scheduler has looked at it.
const (
	Queued  Phase = "Queued"
	Invited Phase = "Invited"
	Placed  Phase = "Placed"
)

// Status is what the scheduler writes on a group.
type Status struct {
	// Attempt is the one that the other fields describe.
	Attempt         int64
	Phase           Phase
	Reason, Message string
}

// Snapshot is the complete input of a decision.
type Snapshot struct {
	Nodes  []Node
	Pods   []Pod
	Groups []Group
	// Gone are pods that this scheduler bound and that no longer exist.
	Gone []Pod
}

// Decision is what one step does.
type Decision struct {
	// Statuses to write; unchanged ones are left out.
	Statuses map[Key]Status
	Binds    []Bind
	// Evictions are the pods to preempt.
	Evictions []Pod
	// Drops are groups to delete; only a mutant sets it.
	Drops []Key
}

// Bind puts a pod onto a node.
type Bind struct {
	Pod  Pod
	Node string
}
