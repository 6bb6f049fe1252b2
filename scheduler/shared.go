package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Shared is what has been computed from one state of the cluster. Of thousands of gangs that wait most ask
// for the same: only the first of them looks at every node and every holder. It belongs to one state, and is
// replaced when that changes. It may be used concurrently.
type Shared struct {
	mu           sync.Mutex
	lists, facts map[string]*sharedResult
}

type sharedResult struct {
	once  sync.Once
	value any
}

// These bound the memory that gangs of ever new shapes can take: a list may hold all nodes or holders,
// anything else is a few hundred bytes. Beyond them everybody computes for themselves.
const (
	maxSharedLists = 50
	maxSharedFacts = 5000
)

// share returns what compute returned first under this key. Without a Shared it computes. The result must
// depend on the key and the state alone, and is read-only.
func share[T any](in *Shared, key string, compute func() T) T {
	if in == nil {
		return compute()
	}
	return recall(in, &in.facts, maxSharedFacts, key, compute)
}

// shareList is share for what grows with the cluster.
func shareList[T any](in *Shared, key string, compute func() T) T {
	if in == nil {
		return compute()
	}
	return recall(in, &in.lists, maxSharedLists, key, compute)
}

func recall[T any](in *Shared, results *map[string]*sharedResult, limit int, key string,
	compute func() T) T {
	in.mu.Lock()
	result := (*results)[key]
	if result == nil && len(*results) < limit {
		if *results == nil {
			*results = map[string]*sharedResult{}
		}
		result = &sharedResult{}
		(*results)[key] = result
	}
	in.mu.Unlock()
	if result == nil {
		return compute()
	}
	result.once.Do(func() { result.value = compute() })
	return result.value.(T)
}

// nodeSet is a list of nodes that is computed once: those that pods of the same constraints may run on.
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

// constraints is the key of what restricts the nodes of a spec, and nothing else of it.
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
// take new pods of it.
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

// Held is what some holders hold of a resource together, and the clause that names them (see HeldBy).
type Held struct {
	Total  int64
	Clause string
}

// Held returns what the holders that pass the filter hold of a resource. Whose names the filter: two filters
// that differ must differ in it.
func (s ClusterState) Held(name corev1.ResourceName, whose string, filter func(Holder) bool) Held {
	key := fmt.Sprintf("held %s by %s, named in %q", name, whose, s.NamesOf)
	return share(s.Shared, key, func() Held {
		holders := s.HoldersOf(name, filter)
		held := Held{Clause: HeldBy(name, holders)}
		for _, h := range holders {
			held.Total += h.Held[name]
		}
		return held
	})
}

// heldOn returns the clause that names the holders of a resource on the nodes of a set, without the gang
// itself.
func (s ClusterState) heldOn(set nodeSet, name corev1.ResourceName, g Gang) string {
	type all struct {
		holders []Holder
		// names of them, as namespace and name.
		names map[[2]string]bool
	}
	on := shareList(s.Shared, fmt.Sprintf("holders of %s on %s", name, set.key), func() all {
		a := all{holders: s.holdersOn(set.nodes, name), names: map[[2]string]bool{}}
		for _, h := range a.holders {
			a.names[[2]string{h.Namespace, h.Name}] = true
		}
		return a
	})
	named := ClusterState{Holders: on.holders, NamesOf: s.NamesOf}
	if on.names[[2]string{g.Namespace, g.Name}] {
		return HeldBy(name, named.HoldersOf(name, func(h Holder) bool {
			return h.Namespace != g.Namespace || h.Name != g.Name
		}))
	}
	key := fmt.Sprintf("held %s on %s, named in %q", name, set.key, s.NamesOf)
	return share(s.Shared, key, func() string {
		return HeldBy(name, named.HoldersOf(name, func(Holder) bool { return true }))
	})
}
