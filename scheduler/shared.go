package scheduler

import "sync"

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
