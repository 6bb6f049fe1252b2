// Package recorder writes what happens to the jobs of a cluster into the history.
//
//	API server ──watch──▶ events ──history.Of──▶ pending ──batches──▶ Store
//	     ▲                                          ▲                   │
//	     │              jobs found deleted ─────────┘                   │ written
//	     └───────────────── finalizers ◀────────────────────────────────┘
//
// One Recorder follows one cluster. Its only state is what is not written yet. Other replicas, or a restart,
// can repeat all its work, because a record is merged into the stored one (history.Merge).
//
// Invariants:
//   - Every observed version of a job is in the record that is written, unless the store rejects it. While
//     the store is unavailable the versions are joined in memory. Beyond its bound live jobs are later read
//     from the cache, where their status has the history, and deleted jobs keep only the deletion; both are
//     counted.
//   - A deletion is kept until it is written or rejected.
//   - A job is recorded as deleted only if its deletion was observed, or the API server reported that no job
//     has its UID.
//   - A finalizer is removed from a deleted job only at the version that is written, or that the store
//     rejects, unless the finalizer is disabled.
//   - A record that the store rejects, although it takes others, is dropped and counted. It does not delay
//     those of other namespaces, which take turns.
package recorder
