// Package tfjob answers one question: how do clients of TFJob-admin talk to this cluster?
//
// It serves TFJob-admin's HTTP API over TrainingJobs. A partition is a namespace, and a runtime is an entry
// of the configuration. What a document means is pkg/tfjobadmin's; here are the calls.
//
//	request ─▶ Handler ─▶ tfjobadmin.Request ─▶ TrainingJob ─▶ the cluster, as the caller
//	                                                 │
//	                    a job that is gone ◀─ History ┘
//
// Invariants:
//   - Every call to a cluster is made as the caller, so nobody sees or changes what kubectl would not let
//     them. The history is asked only after the API server has said to the caller that the job is not there,
//     which it says to nobody who may not get it.
//   - What a running job takes is decided by the TrainingJob API, and refused in its words.
//   - Every refusal is a problem.Problem with the field as the client spells it, and a remedy.
//
// docs/tfjob.md describes the dialect.
package tfjob
