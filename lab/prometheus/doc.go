// Package prometheus answers one question: what does a real Prometheus make of a configuration, of rules and
// of what is scraped?
//
// It runs the binary of Debian's package (test/e2e/install.sh installs it) as a plain process on 127.0.0.1,
// with data of its own. A test gives it a configuration, waits until it has scraped, and asks:
//
//	server, err := prometheus.Start(ctx, prometheus.Options{Dir: t.TempDir(), Config: config})
//	...
//	defer server.Stop(ctx)
//	err = server.WaitForTargets(ctx, 2)
//	samples, err := server.Query(ctx, `sum by (state) (trainingjob_jobs)`)
//	alert, err := server.WaitForAlert(ctx, "TrainingJobOperatorAway", prometheus.Firing)
//
// Invariants:
//   - Without the binary Start fails; no test is skipped for want of it.
//   - The process is stopped by its own handle, and dies with the process that started it.
//   - Every wait is for a condition. It ends with its context, with what was seen last, and at once, with the
//     tail of the log, when Prometheus dies.
//
// A Prometheus takes up its targets in batches, at most one every 5 seconds, however short the intervals of
// its configuration are.
package prometheus
