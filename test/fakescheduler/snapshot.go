package fakescheduler

import "time"

// Key of a namespaced object.
type Key struct{ Namespace, Name string }

// Node that takes pods; those that are cordoned, tainted or not ready are not in a snapshot.
type Node struct {
	Name string
	// GPUs that pods may request.
	GPUs int64
}

// Pod as the scheduler sees it; those of other schedulers have no Group and only hold GPUs.
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

// runs: the pod holds its GPUs and nobody has asked it to end.
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
	Attempt  int64
	Shares   []Share
	// GPUs of the minimum together.
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

// Phases; none: the scheduler has not looked at the group.
const (
	Queued  Phase = "Queued"
	Invited Phase = "Invited"
	Placed  Phase = "Placed"
)

// Status is what the scheduler writes on a group.
type Status struct {
	// Attempt that the rest is about.
	Attempt         int64
	Phase           Phase
	Reason, Message string
}

// Snapshot is all that a decision depends on.
type Snapshot struct {
	Nodes  []Node
	Pods   []Pod
	Groups []Group
	// Gone are pods that this scheduler bound and that exist no more.
	Gone []Pod
}

// Decision is what one step does.
type Decision struct {
	// Statuses that changed.
	Statuses map[Key]Status
	Binds    []Bind
	// Evictions of pods, by the pod.
	Evictions []Pod
	// Drops are groups to delete: only a mutant does that.
	Drops []Key
}

// Bind puts a pod onto a node.
type Bind struct {
	Pod  Pod
	Node string
}
