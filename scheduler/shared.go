package scheduler

import (
	"crypto/sha256"
	"sync"
)

// Shared is what has been computed from one state of the cluster. Of thousands of gangs that wait most ask
// for the same: only the first of them looks at every node and every holder. It belongs to one state, and is
// replaced when that changes. It may be used concurrently.
type Shared struct {
	mu           sync.Mutex
	lists, facts sharedResults
}

// sharedResults are named by a hash of their key: what restricts a gang to some nodes is as long as its user
// likes, and a part of many keys.
type sharedResults map[[sha256.Size]byte]*sharedResult

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
