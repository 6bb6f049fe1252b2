// Package placement answers one question: which rank of which gang is on which node, and how many GPUs does
// each node have?
//
//	API server ──nodes─▶ reflector ──▶ Cluster ──▶ Snapshot ──Of(viewer, jobs)──▶ Map
//	           ──bound─▶ reflector ──▶
//	             pods
//
// Two reflectors follow one cluster. They keep what the map shows of a node, and less than 300 bytes
// of a pod that holds GPUs or is a rank. They keep nothing of other pods. The caches of the recorder and of
// package live are not used: they would hold complete pods, and cannot select pods that have not ended.
//
// Invariants:
//   - Of a pod that is not a rank, only its node and number of GPUs are kept: no name, no namespace.
//   - A Snapshot never changes, and shares unchanged nodes with later ones.
//   - A Map names a gang only to users who may list the TrainingJobs of its namespace; all other holders are
//     one. Users who may not list nodes see only what the statuses of their jobs contain.
//   - Unknown amounts are marked unknown: without the right to list pods no GPU is shown as free.
//   - A cluster that is unreachable, or denies the server, does not delay the others. The map shows
//     the problem with its remedy, and the last known state.
//   - The held, free and unusable GPUs of a node add up to its GPUs.
//   - Making a Map sends no request to a cluster.
package placement
