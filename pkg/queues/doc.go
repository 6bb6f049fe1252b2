// Package queues answers one question: what does each queue have, who uses it, and who waits?
//
// Each scheduler has its own objects for queues. Here they become one shape, which the server returns and the
// kubectl plugin prints:
//
//	volcano.go          Queue                         jobs of all namespaces, by its name
//	kueue.go            ClusterQueue and LocalQueue   jobs by their LocalQueue, which leads to a ClusterQueue
//	elastic_quota.go    scheduler-plugins' ElasticQuota, jobs of its namespace
//	resource_quota.go   a namespace's ResourceQuota   jobs of every scheduler
//
// Invariants:
//   - An amount that no object has is nil, never zero. Unlimited and unknown limits differ.
//   - The same input gives the same list: sorted by scheduler, kind, namespace and name.
//   - Waiting jobs are in the order in which their queue serves them: by priority, then by age. A job whose
//     priority class does not exist comes last, since nothing admits it.
//   - Nothing here uses a client, a context or the clock.
package queues
