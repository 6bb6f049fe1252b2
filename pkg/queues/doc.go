// Package queues answers one question: what does each queue have, who uses it, and who waits?
//
// Every scheduler has objects of its own for that. Here they become one shape, in which the server answers
// and the kubectl plugin prints:
//
//	volcano.go          Queue                         jobs of all namespaces, by its name
//	kueue.go            ClusterQueue and LocalQueue   jobs by their LocalQueue, which leads to a ClusterQueue
//	elastic_quota.go    scheduler-plugins' ElasticQuota, jobs of its namespace
//	resource_quota.go   a namespace's ResourceQuota   jobs of schedulers without queues, and all others beside
//
// Invariants:
//   - An amount that no object says is nil, never zero; no limit is told apart from an unknown one.
//   - The same input gives the same list: sorted by scheduler, kind, namespace and name.
//   - Jobs that wait are in the order in which their queue serves them: by priority, then by age. A job whose
//     priority class does not exist comes last, since nothing admits it.
//   - Nothing here knows a client, a context or the clock.
package queues
