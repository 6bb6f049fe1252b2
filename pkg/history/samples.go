package history

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
)

// Limits for one job.
const (
	// MaxSamples of one attempt.
	MaxSamples = 500
	// MaxCheckpoints of one job.
	MaxCheckpoints = 200
)

// joinSamples returns the union of two sets, thinned. The later report of a step counts.
func joinSamples(a, b []Sample) []Sample {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Sample) int {
		order := cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Step, b.Step), b.Time.Compare(a.Time))
		if order == 0 {
			order = strings.Compare(canonical(b), canonical(a))
		}
		return order
	})
	all = slices.CompactFunc(all, func(a, b Sample) bool {
		return a.Attempt == b.Attempt &&
			a.Step == b.Step
	})
	var kept []Sample
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(s Sample) bool { return s.Attempt != all[0].Attempt })
		if n < 0 {
			n = len(all)
		}
		kept = append(kept, thin(all[:n], MaxSamples, func(s Sample) uint64 { return spread(s.Step) })...)
		all = all[n:]
	}
	return kept
}

// thin keeps the first, the last and the limit-2 entries with the smallest ranks of a sorted list. An entry
// that it drops from a set it also drops from every larger set, so the order in which entries arrive does not
// matter. That requires the same rule if limit-1 or limit entries would fit.
func thin[T any](sorted []T, limit int, rank func(T) uint64) []T {
	if len(sorted) <= limit-2 {
		return sorted
	}
	ranks := make([]uint64, len(sorted))
	for i, e := range sorted {
		ranks[i] = rank(e)
	}
	bound := slices.Sorted(slices.Values(ranks))[limit-3]
	kept := make([]T, 0, limit)
	for i, e := range sorted {
		if i == 0 || i == len(sorted)-1 || ranks[i] <= bound {
			kept = append(kept, e)
		}
	}
	return kept
}

// spread ranks steps by multiples of the golden ratio (Fibonacci hashing, Knuth, volume 3, section 6.4). It
// is one to one. Of evenly spaced steps, those below a bound are almost evenly spaced too (three-distance
// theorem), unlike remainders by a power of two for steps such as 1, 101, 201.
func spread(step int64) uint64 { return uint64(step) * 0x9E3779B97F4A7C15 }

// joinCheckpoints returns the union of two sets, thinned. A checkpoint in several versions has the time and
// the first attempt that any of them knows.
func joinCheckpoints(a, b []Checkpoint) []Checkpoint {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), strings.Compare(a.URI, b.URI))
	})
	joined := all[:0]
	for _, c := range all {
		last := len(joined) - 1
		if last < 0 || joined[last].Step != c.Step || joined[last].URI != c.URI {
			joined = append(joined, c)
			continue
		}
		had := &joined[last]
		had.Time = earliest(had.Time, c.Time)
		if had.Attempt == 0 || c.Attempt != 0 && c.Attempt < had.Attempt {
			had.Attempt = c.Attempt
		}
	}
	return thin(joined, MaxCheckpoints, func(c Checkpoint) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.URI)) // never an error
		return spread(c.Step) ^ h.Sum64()>>16
	})
}
