package fragment

import "slices"

// moved returns the fewest moves, from the last to the first, that give the elements of a container their new
// order. New elements count as moved.
func moved(before, now []string) []Move {
	if slices.Equal(before, now) {
		return nil
	}
	stays := staying(before, now)
	var places []Move
	next := ""
	for _, id := range slices.Backward(now) {
		if !stays[id] {
			places = append(places, Move{id, next})
		}
		next = id
	}
	return places
}

// staying returns the elements that keep their relative order: a longest increasing subsequence of their old
// positions, found by patience sorting.
func staying(before, now []string) map[string]bool {
	was := make(map[string]int, len(before))
	for i, id := range before {
		was[id] = i
	}
	// ends[n] is the last element of the best sequence of n+1 elements: the one with the lowest old position.
	// previous maps an element to the one before it in its sequence.
	var ends []string
	previous := make(map[string]string, len(now))
	for _, id := range now {
		at, known := was[id]
		if !known {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, at, func(end string, at int) int { return was[end] - at })
		if n > 0 {
			previous[id] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, id)
		} else {
			ends[n] = id
		}
	}
	stays := make(map[string]bool, len(ends))
	if len(ends) == 0 {
		return stays
	}
	for id, more := ends[len(ends)-1], true; more; id, more = previous[id], previous[id] != "" {
		stays[id] = true
	}
	return stays
}
