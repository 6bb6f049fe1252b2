// Package demo answers one question: does a gang on a real control plane wait whole, start whole, and come
// back whole after a preemption, at its latest checkpoint?
//
//	examples/demo/*.yaml ──apply──▶ API server ◀──▶ operator, scheduler, fake nodes
//	                                    │ watches
//	                                    ▼
//	             Record, Record, Record … = History ──▶ Verdict ──▶ exit code
//	                  │                        └──────▶ figures
//	                  └──▶ ClusterState ──▶ table, lines, and the condition that ends each act
//
// The demo plays a story in acts (story.go) and records all that it sees (record.go, history.go). Each
// claim of the verdict (verdict.go, claims_*.go) is a pure function of that history, so tests can show it
// histories in which a gang started in part, a rank kept its GPUs, two attempts met, or a checkpoint was
// ignored. A claim about a situation that never arose does not hold.
//
// Invariants:
//   - Nothing waits for a guessed time: an act ends when what was watched meets its condition, or at a
//     generous deadline.
//   - The order of a history is the API server's (resource versions), not the order of delivery.
//   - A watch that lost events ends the demo: a history with a gap proves nothing.
//   - The demo leaves a cluster running that it found running, and ends what it started if asked to. It
//     replaces a cluster that lacks the story's scheduler only if an earlier demo brought it up (cluster.go).
package demo
