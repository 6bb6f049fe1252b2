// Package mlflow answers one question: what does a server of MLflow's REST API know of each job? It gives
// every job one run there, over all its attempts, and keeps that up to date from the history.
//
//	store ── what is not sent yet ──▶ Exporter ──▶ experiments, runs, parameters, metrics, tags, status
//	                                     │
//	                                     └──▶ the annotation mlflow-run-id, for the job's next attempt
//
// Invariants:
//   - A job has one run. It is looked for by the tag with the job's UID before one is made, and once more
//     when the job has ended: a run too many, of a request whose answer was lost, say, is deleted.
//   - One replica sends at a time, by a lease in the database. A replica that has lost its lease without
//     knowing does no harm beyond that.
//   - Whatever was sent may be sent again: it changes nothing. What was sent is written down behind it.
//   - Nothing waits for the tracking server. While it is away the history keeps what is to be sent.
//   - The tracking server's URL is the configuration's, and no redirect is followed. Credentials are read
//     from files, go there, and are in no error and no log line.
//   - Of the cluster nothing is written but the annotation, and only where none is: what a user wrote stays.
//   - A run that somebody deleted is not made anew, and one that this package did not make is not written to.
package mlflow
