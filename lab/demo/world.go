package demo

import (
	"cmp"
	"maps"
	"slices"
)

// World is what is known after some records.
type World struct {
	Jobs map[string]JobState
	// Pods by UID: a rank's name is used again by its next attempt.
	Pods  map[string]PodState
	Nodes map[string]NodeState

	// newest revision by object: where records do not come sorted, an older one must not undo a newer.
	newest map[string]uint64
}

// NewWorld is one in which nothing was seen yet.
func NewWorld() *World {
	return &World{
		Jobs: map[string]JobState{}, Pods: map[string]PodState{}, Nodes: map[string]NodeState{},
		newest: map[string]uint64{},
	}
}

// Apply brings in one record.
func (w *World) Apply(r Record) {
	switch {
	case r.Job != nil && w.isNews("job/"+r.Job.Name, r.Revision):
		put(w.Jobs, r.Job.Name, *r.Job, r.Job.Deleted)
	case r.Pod != nil && w.isNews("pod/"+r.Pod.UID, r.Revision):
		put(w.Pods, r.Pod.UID, *r.Pod, r.Pod.Deleted)
	case r.Node != nil && w.isNews("node/"+r.Node.Name, r.Revision):
		put(w.Nodes, r.Node.Name, *r.Node, r.Node.Deleted)
	}
}

func (w *World) isNews(key string, revision uint64) bool {
	if w.newest[key] > revision {
		return false
	}
	w.newest[key] = revision
	return true
}

func put[V any](m map[string]V, key string, value V, deleted bool) {
	if deleted {
		delete(m, key)
		return
	}
	m[key] = value
}

// Capacity is the GPUs of all nodes.
func (w *World) Capacity() int64 {
	sum := int64(0)
	for _, n := range w.Nodes {
		sum += n.GPUs
	}
	return sum
}

// Held is the GPUs that pods occupy, of those that count accepts.
func (w *World) Held(count func(PodState) bool) int64 {
	sum := int64(0)
	for _, p := range w.Pods {
		if p.Holds() && count(p) {
			sum += p.GPUs
		}
	}
	return sum
}

// Free is the GPUs that nobody occupies.
func (w *World) Free() int64 {
	return w.Capacity() - w.Held(func(PodState) bool { return true })
}

// Ranks are a job's pods of one attempt, by name.
func (w *World) Ranks(job string, attempt int32) []PodState {
	return w.sorted(func(p PodState) bool { return p.Job == job && p.Attempt == attempt })
}

func (w *World) sorted(want func(PodState) bool) []PodState {
	var pods []PodState
	for _, p := range w.Pods {
		if want(p) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b PodState) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
	return pods
}

// NodeNames in order.
func (w *World) NodeNames() []string { return slices.Sorted(maps.Keys(w.Nodes)) }

func count(pods []PodState, want func(PodState) bool) int64 {
	n := int64(0)
	for _, p := range pods {
		if want(p) {
			n++
		}
	}
	return n
}
