// Package demo answers one question: does a gang on a real control plane wait whole, start whole, and come
// back whole after a preemption, at its latest checkpoint?
//
//	examples/demo/*.yaml ──apply──▶ API server ◀──▶ operator, scheduler, fake nodes
//	                                    │ watches
//	                                    ▼
//	                   Record, Record, Record … = History ──▶ Verdict ──▶ exit code
//	                        │                        └──────▶ figures
//	                        └──▶ ClusterState ──▶ table, lines, and the condition that ends each act
//
// The demo plays a story in acts (story.go) and writes down all that it sees (history.go). What it claims
// in the end is a pure function of that history (verdict.go), so its tests can show it histories in which a
// gang was started in part, a rank kept its GPUs, two attempts met, or a checkpoint was passed over. A
// story that never got into the situation where it could have gone wrong does not count as held.
//
// Invariants:
//   - Nothing waits for a guessed time: an act ends when what was watched fulfils its condition, or at a generous deadline.
//   - The order of a history is the API server's (resource versions), not that in which two watches were delivered.
//   - A watch that lost events ends the demo: a history with a gap proves nothing.
//   - What the demo found running it leaves running; what it started it ends, if asked to.
package demo
