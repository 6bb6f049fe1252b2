// Package monitoring tests deploy/monitoring: rules and dashboards query existing metrics, each alert has its
// section in the documentation, and fires and stays silent as it should (alerts.yaml, run by promtool). A
// real Prometheus scrapes the operator while jobs train, are preempted and fail, and every query returns what
// the jobs' own history has (live_test.go). test/install tests the installed operator with Prometheus.
package monitoring
