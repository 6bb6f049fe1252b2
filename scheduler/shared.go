package scheduler

import (
	"crypto/sha256"
	"sync"
)

// Shared caches results computed from one state of the cluster. Most of the thousands of waiting gangs have
// the same requests, so only the first of them reads every node and every holder. It belongs to one state,
// and is replaced when that changes. It is safe for concurrent use.
type Shared struct {
	mu           sync.Mutex
	lists, facts sharedResults
}

// sharedResults are keyed by a hash: a gang's constraints can be arbitrarily long and are part of many keys.
type sharedResults map[[sha256.Size]byte]*sharedResult

type sharedResult struct {
	once  sync.Once
	value any
}

// These bound the memory for gangs of many shapes: a list may hold all nodes or holders, other results are a
// few hundred bytes. Beyond them each gang computes for itself.
const (
	maxSharedLists = 50
	maxSharedFacts = 5000
)

// share returns the first result of compute for this key. Without a Shared it computes each time. The result
// must depend only on the key and the state, and is read-only.
func share[T any](in *Shared, key string, compute func() T) T {
	if in == nil {
		return compute()
	}
	return recall(in, &in.facts, maxSharedFacts, key, compute)
}

// shareList is share for results that grow with the cluster.
func shareList[T any](in *Shared, key string, compute func() T) T {
	if in == nil {
		return compute()
	}
	return recall(in, &in.lists, maxSharedLists, key, compute)
}

func recall[T any](in *Shared, results *sharedResults, limit int, key string, compute func() T) T {
	name := sha256.Sum256([]byte(key))
	in.mu.Lock()
	result := (*results)[name]
	if result == nil && len(*results) < limit {
		if *results == nil {
			*results = sharedResults{}
		}
		result = &sharedResult{}
		(*results)[name] = result
	}
	in.mu.Unlock()
	if result == nil {
		return compute()
	}
	result.once.Do(func() { result.value = compute() })
	return result.value.(T)
}
