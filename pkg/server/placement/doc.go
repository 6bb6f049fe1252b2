// Package placement answers one question: which rank of which gang is on which node, and how many GPUs does
// each node have?
//
//	API server ──nodes─▶ reflector ──▶ Cluster ──▶ Snapshot ──Of(viewer, jobs)──▶ Map
//	           ──bound─▶ reflector ──▶
//	             pods
//
// Two reflectors follow one cluster. They keep of a node what the map shows, and of a pod that holds GPUs, or
// is a rank, less than 300 bytes; of all other pods nothing. The caches that the recorder and package live
// share hold none of this: they would hold whole pods, of every kind, and know no field selector that leaves
// out those that have ended.
//
// Invariants:
//   - Of a pod that is no rank nothing is known but how many GPUs it holds on which node: no name, no
//     namespace.
//   - A Snapshot never changes, and shares with later ones the nodes that have not changed.
//   - A Map names a gang only to who may list the TrainingJobs of its namespace; all other holders are one.
//     Who may not list nodes is told only what the statuses of the jobs say that they may list.
//   - What is not known is said not to be: without the right to list pods no GPU is said to be free.
//   - A cluster that is away, or that does not let the server list, keeps no other waiting. The map says so,
//     with the remedy, and shows what was seen last.
//   - GPUs of a node that are held, free and unusable add up to those that it has.
//   - Nothing is asked of a cluster while a Map is made.
package placement
