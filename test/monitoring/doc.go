// Package monitoring tests what deploy/monitoring ships: that rules and dashboards ask for what is served,
// that each alert has its section in docs/monitoring.md, and that it fires and stays silent (alerts.yaml,
// which promtool plays). test/install has a real Prometheus scrape an operator with these rules.
package monitoring
