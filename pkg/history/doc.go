// Package history answers one question: what is known of a job that outlives the job itself?
//
// A Record is everything that is kept of one job, under the job's UID. Of makes one from a single version of
// the TrainingJob as the API server had it: its status tells the attempts, transitions, checkpoints and
// counters that are over. Merge joins two records of the same job.
//
//	TrainingJob at a resource version ── Of ──▶ Record ─┐
//	                                                    ├─ Merge ──▶ Record, stored
//	                      what the store has ── Record ─┘
//
// Invariants:
//   - Merge is commutative, associative and idempotent: the order of events, their repetition, a second replica
//     and a relist change nothing.
//   - A record never says what no version of the job said. What happened while nobody watched and left no trace
//     in the status is unknown, and said as unknown.
//   - Nothing here knows a database, a client or a clock.
package history
