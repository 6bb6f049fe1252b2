// Package rest serves the REST API over the TrainingJobs of the configured clusters.
//
//	request ─▶ Server ─┬─ one object, or a change ─▶ Access.As ─▶ the cluster, as the caller
//	                   ├─ lists and live changes ────▶ Live ────┐
//	                   └─ past jobs and accounting ──▶ History ─┴─▶ Access.Visible ─▶ response
//
// docs/server.md describes the API, docs/openapi.json is its contract; tests compare both.
//
//	server.go       options and routes
//	openapi.go      the document, and schema.go TrainingJobs in it
//	inputs.go       parameters that several operations share
//	visibility.go   rights of the caller
//	jobs.go, list.go, create.go, patch.go, preconditions.go, actions.go, warnings.go
//	explain.go, logs.go, queues.go
//	history.go, accounting.go, cost.go, csv.go
//	events.go, stream.go
//	inprocess.go    the same operations for callers in the process
//
// Invariants:
//   - Every call about one object, and every change, acts as the caller in the cluster. Data from caches and
//     from the history is returned only if the caller may read it in the cluster.
//   - Requests do not choose network targets: names of clusters are looked up, and other names become parts
//     of API server paths after validation.
//   - Every error is a problem.Problem. Unknown parameters and fields are errors.
//   - Memory is bounded: lists have pages, logs are streamed, and a slow reader of events is disconnected.
//   - Middleware has authenticated the request before: its context has the caller.
package rest
