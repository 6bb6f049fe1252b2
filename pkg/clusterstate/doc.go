// Package clusterstate answers one question: what does the cluster have, as far as it explains why a gang
// waits?
//
//	nodes, jobs   the manager's own informers ─┐
//	bound pods    a reflector ─────────────────┼─▶ Cluster: sums, kept up to date ──State()──▶ scheduler.Facts
//	queues, ...   a reflector for each kind ───┘
//
// The operator's own cache of pods holds those of training jobs alone. To know what is free, all pods that
// are bound must be counted: they are followed by a reflector that keeps no pods but what it needs of each,
// about 185 bytes, and the sums over nodes and owners (BenchmarkBytesPerPod measures it; a cached corev1.Pod
// takes ten times as much, trimmed). What the API server sends of a pod is garbage at once.
//
// Invariants:
//   - Facts costs nothing when nothing has changed, and else the nodes that changed: it may be asked in every
//     pass.
//   - What Facts returned never changes afterwards; it shares with the next what both have in common.
//   - Sums are exact: what a pod added is what it takes away, whatever its last event says.
//   - Nothing here writes to the API server.
package clusterstate
