// Package recorder answers one question: how does what happens to the jobs of a cluster get into the history?
//
//	API server ──watch──▶ events ──history.Of──▶ pending ──batches──▶ Store
//	     ▲                                          ▲                   │
//	     │                  jobs found gone ────────┘                   │ written
//	     └───────────────── finalizers ◀────────────────────────────────┘
//
// One Recorder follows one cluster. It has no memory of its own beside what is not written yet: all that it
// does may be done twice, by another replica, or again after it was killed, since a record is joined to what
// the store has (history.Merge).
//
// Invariants:
//   - Every version of a job that is seen is in what is written for it. While the store is away, what the
//     versions of a job say is joined in memory. Where that takes more than its bound, live jobs are read
//     from the cache when the store is back, whose status carries their history, and of deleted jobs only
//     the deletion is kept; both are counted.
//   - A deletion is kept until it is written.
//   - A job is said to be gone only where its deletion was seen, or the API server itself said that there is
//     none of its UID.
//   - A finalizer is removed from a deleted job only at the very version that is written, unless the
//     finalizer is turned off.
//   - A record that the store refuses keeps no other from being written.
package recorder
