// Package process runs one process of a local cluster: it starts it, identifies it, waits until it is healthy
// and stops it. A Process is data that a state file keeps, so a later command can do all of that too.
//
// Invariants:
//   - Only processes that this package started are ever signalled: a pid counts only together with the start
//     time of its process.
//   - A port that is taken is refused, never shared: an API server that attaches to another cluster's etcd
//     destroys both.
//   - A wait for health ends at once, with the tail of the log, when the process dies.
package process
