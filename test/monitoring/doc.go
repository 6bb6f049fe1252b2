// Package monitoring tests what deploy/monitoring ships: that rules and dashboards ask for what is served,
// that each alert has its section in docs/monitoring.md, and that it fires and stays silent (alerts.yaml,
// which promtool plays). A real Prometheus scrapes the operator while jobs train, are preempted and fail,
// and every query has data and says what the jobs' own history says (live_test.go). test/install has one
// scrape the operator as it is installed.
package monitoring
