// Package live answers one question: which TrainingJobs exist now, and what changes about them?
//
// It follows the jobs of each cluster with that cluster's informers, which others share:
//
//	informer ──▶ Cluster ──▶ View          all jobs at one moment, by namespace and name
//	                     └─▶ Subscription  every change after a moment, in order
//
// A Position is a moment of one process. A resource version cannot replace it: after a lost connection an
// informer sends missed changes in any order. A subscriber with the highest version can then lack lower ones.
//
// Invariants:
//   - A View and the beginning of a Subscription are taken under the lock under which changes are applied:
//     no change between them is missed.
//   - A subscriber that lags too far behind is dropped. It blocks no other, and memory is bounded.
//   - Jobs are shared with the informers and with all readers: read only.
//   - An unreachable cluster, or one without the CRD, does not delay the others.
//   - Nothing here checks the rights of users.
package live
