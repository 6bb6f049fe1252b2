// Package live answers one question: which TrainingJobs are there now, and what changes about them?
//
// It follows the jobs of every cluster by that cluster's informers, which others share:
//
//	informer ──▶ Cluster ──▶ View          all jobs at one moment, by namespace and name
//	                     └─▶ Subscription  every change after a moment, in order
//
// A Position is a moment of one process. Resource versions cannot take its place: after a lost connection an
// informer tells the changes that it missed in any order, so that a subscriber that has seen the highest
// version may not have seen all lower ones.
//
// Invariants:
//   - A View and the beginning of a Subscription are taken under the same lock as changes are applied:
//     between them nothing is missed.
//   - A subscriber that does not keep up is dropped. It holds up nobody, and memory is bounded.
//   - Jobs are shared with the informers and with all readers. Nobody changes them.
//   - A cluster that is away, or that has no TrainingJobs yet, keeps no other waiting.
//   - Nothing here knows who may see what.
package live
