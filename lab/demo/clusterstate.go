package demo

import (
	"cmp"
	"maps"
	"slices"
)

// ClusterState is the state of the cluster after a number of records: its jobs, pods and nodes.
type ClusterState struct {
	Jobs map[string]JobState
	// Pods by UID: the next attempt of a rank has the same name.
	Pods  map[string]PodState
	Nodes map[string]NodeState

	// newest revision by object. Records can arrive unsorted, and an older one must not overwrite a newer
	// one.
	newest map[string]uint64
}

// NewClusterState returns the state before the first record.
func NewClusterState() *ClusterState {
	return &ClusterState{
		Jobs: map[string]JobState{}, Pods: map[string]PodState{}, Nodes: map[string]NodeState{},
		newest: map[string]uint64{},
	}
}

// Apply brings the state up to date with one record.
func (s *ClusterState) Apply(r Record) {
	switch {
	case r.Job != nil && s.isNewer("job/"+r.Job.Name, r.Revision):
		put(s.Jobs, r.Job.Name, *r.Job, r.Job.Deleted)
	case r.Pod != nil && s.isNewer("pod/"+r.Pod.UID, r.Revision):
		put(s.Pods, r.Pod.UID, *r.Pod, r.Pod.Deleted)
	case r.Node != nil && s.isNewer("node/"+r.Node.Name, r.Revision):
		put(s.Nodes, r.Node.Name, *r.Node, r.Node.Deleted)
	}
}

func (s *ClusterState) isNewer(key string, revision uint64) bool {
	if s.newest[key] > revision {
		return false
	}
	s.newest[key] = revision
	return true
}

func put[V any](m map[string]V, key string, value V, deleted bool) {
	if deleted {
		delete(m, key)
		return
	}
	m[key] = value
}

// TotalGPUs is the number of GPUs of all nodes.
func (s *ClusterState) TotalGPUs() int64 {
	sum := int64(0)
	for _, n := range s.Nodes {
		sum += n.GPUs
	}
	return sum
}

// GPUsInUse is the number of GPUs that pods hold, of the pods that count accepts.
func (s *ClusterState) GPUsInUse(count func(PodState) bool) int64 {
	sum := int64(0)
	for _, p := range s.Pods {
		if p.HoldsGPUs() && count(p) {
			sum += p.GPUs
		}
	}
	return sum
}

// FreeGPUs is the number of GPUs that no pod holds.
func (s *ClusterState) FreeGPUs() int64 {
	return s.TotalGPUs() - s.GPUsInUse(func(PodState) bool { return true })
}

// Ranks are a job's pods of one attempt, sorted by name.
func (s *ClusterState) Ranks(job string, attempt int32) []PodState {
	return s.sorted(func(p PodState) bool { return p.Job == job && p.Attempt == attempt })
}

func (s *ClusterState) sorted(want func(PodState) bool) []PodState {
	var pods []PodState
	for _, p := range s.Pods {
		if want(p) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b PodState) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// NodeNames are the names of the nodes, sorted.
func (s *ClusterState) NodeNames() []string { return slices.Sorted(maps.Keys(s.Nodes)) }

func count(pods []PodState, want func(PodState) bool) int64 {
	n := int64(0)
	for _, p := range pods {
		if want(p) {
			n++
		}
	}
	return n
}
