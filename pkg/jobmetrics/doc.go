// Package jobmetrics answers one question: what are the metrics of the jobs that exist now?
//
//	jobs in the cache ─▶ kept (a limit) ─▶ series of each job ─▶ /metrics/jobs
//	                └──▶ sums over all of them ────────────────▶ /metrics
//
// Both are functions of the jobs, evaluated on each scrape. The package keeps no state between scrapes: a
// deleted job has no series, and the state of an earlier operator does not matter. Only the leading replica
// serves them: two replicas would count each job twice, and the cache of a standby can lag behind.
//
// Counters of past events (failed jobs, time in the queue) belong to pkg/controller.
package jobmetrics
