// Package rest answers one question: what does the server say over HTTP about the TrainingJobs of its
// clusters?
//
//	request ─▶ Server ─┬─ one object, or a change ─▶ Access.As ─▶ the cluster, as the caller
//	                   ├─ lists, changes as they happen ─▶ Live ─┐
//	                   └─ what is over, what was used ─▶ History ─┴─▶ Access.Visible ─▶ answer
//
// docs/server.md describes the API, docs/openapi.json is its contract; both are held by tests.
//
//	server.go       what a Server needs, and its routes
//	openapi.go      the document, and schema.go TrainingJobs in it
//	inputs.go       parameters that several operations share
//	visibility.go   who may see what
//	jobs.go, list.go, create.go, patch.go, preconditions.go, actions.go, warnings.go
//	explain.go, logs.go, queues.go
//	history.go, accounting.go, cost.go, csv.go
//	events.go, stream.go
//	inprocess.go    the same operations for callers in the process
//
// Invariants:
//   - Every call about one object, and every change, is made to the cluster as the caller. What is read from
//     caches and from the history is shown where the cluster says that the caller may read it there.
//   - Nothing that a caller names is dialled: names of clusters are looked up, and all others become parts of
//     paths of an API server after they have been checked.
//   - Every error is a problem.Problem. What a request has that is not known is an error, and never ignored.
//   - No answer and no stream takes memory without bound: pages are limited, logs are copied as they come,
//     and a reader of events that does not keep up is dropped.
//   - Authentication is done before: the context of a request has the caller, whom only Access knows.
package rest
