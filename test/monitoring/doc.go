// Package monitoring tests what deploy/monitoring ships: that rules and dashboards ask for what is served,
// that each alert has its section in docs/monitoring.md, and, with promtool (make test-monitoring), that each
// alert fires and stays silent. alerts.yaml is promtool's test.
package monitoring
