// Command docs-gen writes the reference pages that are generated from code, and the schema of the Helm
// chart's values:
//
//	go run ./cmd/docs-gen configuration > docs/configuration.md
//	go run ./cmd/docs-gen metrics > docs/metrics.md
//	go run ./cmd/docs-gen server-configuration > docs/server-configuration.md
//	go run ./cmd/docs-gen openapi > docs/openapi.json
//	go run ./cmd/docs-gen values-schema > deploy/chart/values.schema.json
//	go run ./cmd/docs-gen prometheus-rule > deploy/monitoring/prometheus_rule.yaml
//
// It runs in the root of the module, because it reads the sources of the configurations and the rules.
package main

import (
	"fmt"
	"io"
	"os"
)

const usage = `usage:
  docs-gen configuration         every key of the operator's configuration, from pkg/config
  docs-gen metrics               every metric of the operator and the server, from their packages
  docs-gen server-configuration  every key of the server's configuration, from pkg/server
  docs-gen openapi               the contract of the server's REST API, from pkg/server/rest
  docs-gen values-schema         the schema of the Helm chart's values, from both configurations
  docs-gen prometheus-rule       the rules of deploy/monitoring as an object of the Prometheus Operator
`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "docs-gen:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	page := ""
	if len(args) == 1 {
		page = args[0]
	}
	switch page {
	case "configuration":
		return writeConfiguration(out, newComments("."))
	case "metrics":
		return writeMetrics(out)
	case "server-configuration":
		return writeServerConfiguration(out, newComments("."))
	case "openapi":
		return writeOpenAPI(out)
	case "values-schema":
		return writeValuesSchema(out, newComments("."))
	case "prometheus-rule":
		return writePrometheusRule(out, ruleSource)
	}
	return fmt.Errorf("unknown arguments %q\n%s", args, usage)
}
