package demo

import (
	"cmp"
	"slices"
)

// History is everything that was seen, in the API server's order.
type History struct {
	Records []Record
}

// sort puts the records into the API server's order.
func (h *History) sort() {
	slices.SortStableFunc(h.Records, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
}

// each replays the history and stops at the first error: visit is given the state right after each record.
func (h History) each(visit func(*ClusterState, Record) error) error {
	state := NewClusterState()
	for _, r := range h.Records {
		state.Apply(r)
		if err := visit(state, r); err != nil {
			return err
		}
	}
	return nil
}

// end is the state after the last record.
func (h History) end() *ClusterState {
	state := NewClusterState()
	for _, r := range h.Records {
		state.Apply(r)
	}
	return state
}
