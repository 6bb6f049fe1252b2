// Package tfjob serves TFJob-admin's HTTP API over TrainingJobs. A partition is a namespace, and a runtime is
// an entry of the configuration. Package pkg/tfjobadmin converts the documents.
//
//	request ─▶ Handler ─▶ tfjobadmin.Request ─▶ TrainingJob ─▶ the cluster, as the caller
//	                                                 │
//	                      a deleted job ◀─ History ┘
//
// Invariants:
//   - Every call acts as the caller in the cluster, so users have the same rights as with kubectl. The
//     handler reads the history only after the API server has returned 404, which requires the right to get
//     the job.
//   - The TrainingJob API decides which changes a running job accepts, and its messages are returned.
//   - Every rejection is a problem.Problem with the client's name of the field, and a remedy.
//
// docs/tfjob.md describes the dialect.
package tfjob
