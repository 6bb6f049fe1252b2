package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Held is the total that some holders hold of a resource, and the clause that names them (see HeldBy).
type Held struct {
	Total  int64
	Clause string
}

// Held returns what the holders that pass the filter hold of a resource. Whose is the key of the filter:
// different filters must have different keys.
func (s ClusterState) Held(name corev1.ResourceName, whose string, filter func(Holder) bool) Held {
	key := fmt.Sprintf("held %s by %s, named in %q", name, whose, s.NamesOf)
	return share(s.Shared, key, func() Held {
		holders := s.HoldersOf(name, filter)
		held := Held{Clause: s.heldBy(name, holders)}
		for _, h := range holders {
			held.Total += h.Held[name]
		}
		return held
	})
}

// heldBy is HeldBy for holders of this state. In a partial state it adds that there may be others.
func (s ClusterState) heldBy(name corev1.ResourceName, holders []Holder) string {
	clause := HeldBy(name, holders)
	if s.Partial && clause != "" {
		clause += " and perhaps by pods that the operator does not see"
	}
	return clause
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
	named := ClusterState{Holders: on.holders, NamesOf: s.NamesOf, Partial: s.Partial}
	if on.names[[2]string{g.Namespace, g.Name}] {
		return named.heldBy(name, named.HoldersOf(name, func(h Holder) bool {
			return h.Namespace != g.Namespace || h.Name != g.Name
		}))
	}
	key := fmt.Sprintf("held %s on %s, named in %q", name, set.key, s.NamesOf)
	return share(s.Shared, key, func() string {
		return named.heldBy(name, named.HoldersOf(name, func(Holder) bool { return true }))
	})
}
