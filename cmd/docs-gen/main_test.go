package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigurationHasDefaultsOfTheCode(t *testing.T) {
	var out strings.Builder
	if err := writeConfiguration(&out, filepath.Join("..", "..", configSources)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| `schedulers.volcano.waitForInqueue` | boolean | `true` | WaitForInqueue creates ",
		"| `schedulers.native.schedulerName` | string | `\"default-scheduler\"` | ",
		"| `agent.image` | string |  | Image ",
		"| `workers` | integer | `10` | Workers is ",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("%q is missing in:\n%s", row, out.String())
		}
	}
}

// TestConfigurationNeedsComments: a key without a doc comment fails the generator.
func TestConfigurationNeedsComments(t *testing.T) {
	dir := t.TempDir()
	source := "package config\n\ntype OperatorConfiguration struct {\n\tAPIVersion string\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeConfiguration(io.Discard, dir)
	if err == nil || !strings.Contains(err.Error(), "OperatorConfiguration.APIVersion") {
		t.Errorf("got %v", err)
	}
}

func TestMetrics(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"metrics"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| `trainingjob_reports_total` | counter | `result` | 15 results | ",
		"| `trainingjob_loss` | gauge | `namespace`, `trainingjob` | at most one for each job | ",
		"| `trainingjob_resume_seconds` | histogram | `namespace`, `queue` | namespaces × queues × 21 | ",
		"| `trainingjob_operator_reconcile_duration_seconds` | histogram |  | 19 | ",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("%q is missing in:\n%s", row, out.String())
		}
	}
}

func TestUnknownPage(t *testing.T) {
	for _, args := range [][]string{nil, {"api"}, {"metrics", "configuration"}} {
		if err := run(args, io.Discard); err == nil || !strings.Contains(err.Error(), "usage:") {
			t.Errorf("%q: got %v", args, err)
		}
	}
}
