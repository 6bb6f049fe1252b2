// Package mlflow runs the tracking server of MLflow's current release from PyPI, for tests.
//
// It is installed as package python does (locks/mlflow.txt), and runs as one process on 127.0.0.1 with a
// database of its own:
//
//	server, err := mlflow.Start(ctx, mlflow.Options{Dir: t.TempDir()})
//	...
//	defer server.Stop(ctx)
//	answer, err := http.Get(server.URL + "/api/2.0/mlflow/experiments/get-by-name?experiment_name=team-a")
//
// Invariants:
//   - The process is stopped by its own handle, and ends with the process that started it. The command
//     mlflow server would start a second process, which survives the first one. Therefore this package runs
//     the command that mlflow server runs (_run_server in mlflow/server/__init__.py).
//   - The server sends no telemetry, and downloads nothing.
//   - A server that was stopped or killed can be started again, at the same URL and with its data.
//
// MLflow accepts requests for localhost and private addresses only, so 127.0.0.1 needs no setting. It checks
// origins only in requests of browsers.
package mlflow
