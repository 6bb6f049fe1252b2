// Package store answers one question: what is in the history? It keeps the records of package history in
// SQLite or PostgreSQL.
//
//	Record ──read, Merge, write what differs──▶ jobs, attempts, transitions, …, usage
//	                                                  │
//	Job, Jobs, Samples, Accounting ◀──────────────────┘
//
// Invariants:
//   - What is stored of a job is the Merge of all records of it that Record was given, whatever their order
//     and however often it was interrupted: a job is read, merged and written in one transaction.
//   - One transaction writes at a time: SQLite has one writer, and with PostgreSQL an advisory lock makes the
//     replicas take turns. Readers never wait.
//   - usage is the sum of what the stored records used: it is changed by the difference, in the same
//     transaction. Prune, which removes jobs, leaves their part in it.
//   - No query reads a table whole: each walks an index. TestQueriesUseIndexes asks SQLite.
//   - The statements are the same for both databases; what differs is in dialect.go and in migrations/.
//   - No error and no log line contains a password.
//   - Sessions of browsers are kept by the SHA-256 of what the browsers have.
//
// SQLite is for one process at a time. A second one that only reads, or that takes over from a first one
// which was killed, does no harm.
package store
