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
//   - Past changes are kept once, for all subscribers, up to a number and a size that is measured. A
//     subscriber whose next change is not kept any more is dropped. It blocks no other.
//   - Of a job with large versions, former ones may be left out. Its last version is always sent.
//   - Jobs are shared with the informers and with all readers: read only.
//   - An unreachable cluster, or one without the CRD, does not delay the others.
//   - Nothing here checks the rights of users.
package live
