// Package jobmetrics answers one question: what do the jobs that exist now look like in numbers?
//
//	jobs in the cache ─▶ kept (a limit) ─▶ series of each job ─▶ /metrics/jobs
//	                └──▶ sums over all of them ────────────────▶ /metrics
//
// Both are functions of the jobs, evaluated when somebody scrapes and not otherwise. Nothing is kept between
// two scrapes, so a job is forgotten with its deletion, and what a former operator has seen does not matter.
// Only the replica that leads answers: two replicas would count every job twice, and what a standby's cache
// holds may lag behind.
//
// Numbers of jobs that change and are gone (how many have failed, how long they were queued) are counters of
// pkg/controller.
package jobmetrics
