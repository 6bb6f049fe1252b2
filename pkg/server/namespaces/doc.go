// Package namespaces answers one question: which namespaces does a cluster have now?
//
// The name of a namespace can be used again, by other users. Its UID, and the time of its creation,
// distinguish what belongs to a namespace from what belonged to a former one with the name.
//
// Invariants:
//   - A job is never attributed to a namespace that was created after it, or deleted before it: the cache
//     of the namespaces and that of the jobs can be from different moments.
//   - A cluster that is unreachable, or that denies the right to list namespaces, does not delay the
//     others. Its namespaces are unknown.
package namespaces
