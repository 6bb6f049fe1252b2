// Package demo plays a story on a real control plane and checks that a gang waits, starts and, after a
// preemption, resumes from its latest checkpoint as a unit.
//
//	examples/demo/*.yaml ──apply──▶ API server ◀──▶ operator, scheduler, fake nodes
//	                                    │ watches
//	                                    ▼
//	             Record, Record, Record … = History ──▶ Verdict ──▶ exit code
//	                  │                        └──────▶ figures
//	                  └──▶ ClusterState ──▶ table, lines, and the condition that ends each act
//
// The demo plays the story in acts (story.go) and records what it observes (record.go, history.go). Each
// claim of the verdict (verdict.go, claims_*.go) is a pure function of that history, so tests can pass it
// histories in which a gang started in part, a rank kept its GPUs, two attempts overlapped, or a checkpoint
// was ignored. A claim about a situation that never arose does not hold.
//
// Invariants:
//   - The demo waits for no guessed time: an act ends when the observed state meets its condition, or at a
//     generous deadline.
//   - The order of a history is the API server's (resource versions), not the order of delivery.
//   - A watch that lost events ends the demo: a history with a gap proves nothing.
//   - The demo leaves a cluster running that it found running, and stops what it started if Down is set. It
//     replaces a cluster that lacks the story's scheduler only if an earlier demo brought it up (cluster.go).
package demo
