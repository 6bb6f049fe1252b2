// Command docs-gen writes the reference pages that are made from code, and the schema of the Helm chart's
// values:
//
//	go run ./cmd/docs-gen configuration > docs/configuration.md
//	go run ./cmd/docs-gen metrics > docs/metrics.md
//	go run ./cmd/docs-gen values-schema > deploy/chart/values.schema.json
//	go run ./cmd/docs-gen prometheus-rule > deploy/monitoring/prometheus_rule.yaml
//
// It runs in the root of the module, because it reads the sources of pkg/config and the rules.
package main

import (
	"fmt"
	"io"
	"os"
)

const usage = `usage:
  docs-gen configuration    every key of the operator's configuration, from pkg/config
  docs-gen metrics          every metric of the operator, from the packages that make them
  docs-gen values-schema    what the Helm chart's values may be, from pkg/config
  docs-gen prometheus-rule  the rules of deploy/monitoring as an object of the Prometheus Operator
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
		return writeConfiguration(out, configSources)
	case "metrics":
		return writeMetrics(out)
	case "values-schema":
		return writeValuesSchema(out, configSources)
	case "prometheus-rule":
		return writePrometheusRule(out, ruleSource)
	}
	return fmt.Errorf("unknown arguments %q\n%s", args, usage)
}
