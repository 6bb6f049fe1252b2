// Package mlflow exports the history to a server of MLflow's REST API: one run for each job, over all its
// attempts.
//
//	store ── what is not sent yet ──▶ Exporter ──▶ experiments, runs, parameters, metrics, tags, status
//	                                     │
//	                                     └──▶ the annotation mlflow-run-id, for the job's next attempt
//
// Invariants:
//   - A job has one run. The exporter searches it by the tag with the job's UID before it creates one, and
//     again when the job has ended: it deletes extra runs, such as those of requests whose response was lost.
//   - One replica sends at a time, by a lease in the database. A replica that has lost its lease without
//     noticing does no further harm.
//   - Sending data again changes nothing. What was sent is stored after it was sent.
//   - Nothing waits for the tracking server. While it is unavailable the history keeps the data.
//   - Requests go only to the configured URL, without redirects. Credentials are read from files, and are in
//     no error and no log line.
//   - In the cluster the exporter writes only the annotation, and never overwrites a user's.
//   - The exporter does not recreate a deleted run, and does not write to runs that it did not create.
package mlflow
