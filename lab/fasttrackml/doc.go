// Package fasttrackml answers one question: what does a real server of MLflow's REST API make of what we
// send?
//
// It runs FastTrackML (github.com/G-Research/fasttrackml), built from its Go module (lab/modules/fasttrackml)
// into the user's cache, as a plain process on 127.0.0.1 with a database of its own:
//
//	server, err := fasttrackml.Start(ctx, fasttrackml.Options{Dir: t.TempDir()})
//	...
//	defer server.Stop(ctx)
//	answer, err := http.Get(server.URL + "/api/2.0/mlflow/experiments/get-by-name?experiment_name=team-a")
//
// Invariants:
//   - Without a C compiler the build fails; no test is skipped for want of it.
//   - The process is stopped by its own handle, and dies with the process that started it.
//   - A server that is stopped or killed can be started again: at the same URL, with what its database had.
package fasttrackml
