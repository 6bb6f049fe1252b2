// Package store keeps the history in SQLite or PostgreSQL: the records of package history.
//
//	Record ──read, Merge, write what differs──▶ jobs, attempts, transitions, …, usage
//	                                                   │
//	Job, Jobs, Samples, Accounting ◀───────────────────┘
//
// Invariants:
//   - The stored record of a job is the Merge of all its records, in any order and after any interruption:
//     one transaction reads, merges and writes a job.
//   - One transaction writes at a time: SQLite has one writer, and PostgreSQL an advisory lock for all
//     replicas. Readers never wait.
//   - The table usage is the sum of the usage of the stored records. The transaction that writes a record
//     adds the difference. Prune deletes jobs, but not their share of usage.
//   - Every query uses an index. TestQueriesUseIndexes verifies that with SQLite.
//   - The statements are the same for both databases; the differences are in dialect.go and in migrations/.
//   - No error or log line contains a password.
//   - Sessions of browsers are stored by the SHA-256 of their cookie.
//
// Only one process at a time may use SQLite. A second one that only reads, or that replaces a killed one, is
// harmless.
package store
