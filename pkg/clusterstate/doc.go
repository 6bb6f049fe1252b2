// Package clusterstate answers one question: what does the cluster have, as far as it explains why a gang
// waits?
//
//	nodes, jobs      the manager's own informers --+
//	bound pods       a reflector ------------------+-> Cluster: sums, kept up to date -> State()
//	queues, quotas   a reflector for each kind ----+
//
// The operator's own cache holds the pods of training jobs alone, but what is free depends on every bound
// pod. A reflector follows them without keeping them: of each pod it keeps what the sums over nodes and
// owners need, about 185 bytes (BenchmarkBytesPerPod measures it; a cached corev1.Pod takes ten times as
// much, trimmed). What the API server sends of a pod is garbage at once.
//
// Invariants:
//   - State costs nothing when nothing has changed, and otherwise no more than the parts that changed: every
//     reconcile may ask for it.
//   - What State has returned never changes; it shares with later results what they have in common.
//   - Sums are exact: a pod takes away what it added, whatever its last event says.
//   - Nothing here writes to the API server.
package clusterstate
