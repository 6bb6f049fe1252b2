package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConfigurationHasDefaultsOfTheCode(t *testing.T) {
	var out strings.Builder
	if err := writeConfiguration(&out, newComments("../..")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"- `schedulers.volcano.waitForInqueue` (boolean, default `true`): WaitForInqueue creates ",
		"- `schedulers.native.schedulerName` (string, default `\"default-scheduler\"`): ",
		"- `agent.image` (string): Image ",
		"- `workers` (integer, default `10`): The number ",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("%q is missing in:\n%s", row, out.String())
		}
	}
}

// TestServerConfiguration: keys within lists are documented too.
func TestServerConfiguration(t *testing.T) {
	var out strings.Builder
	if err := writeServerConfiguration(&out, newComments("../..")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"- `listen.bindAddress` (string, default `\"localhost:8080\"`): ",
		"- `clusters` (list of objects): Clusters ",
		"- `clusters[].kubeconfig` (string): The absolute path ",
		"- `prices[].perGPUHour` (string): The price ",
		"- `gpuKindLabels` (list of strings, default above): ",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("%q is missing in:\n%s", row, out.String())
		}
	}
}

// Block is a part of a configuration, as another package has it.
type Block struct {
	Inner
	// Times by name.
	Times map[string]Time `json:"times"`
	// Every so often.
	Every metav1.Duration `json:"every"`
	// Last may be absent.
	Last *Time `json:"last,omitempty"`
}

// Inner is part of Block.
type Inner struct {
	// Name of the block.
	Name string `json:"name"`
}

// Time of something.
type Time struct {
	// Hour from 0 to 23.
	Hour int32 `json:"hour"`
}

// TestKeysOfBlocks: what embeds, maps and points is documented like what stands in the file itself.
func TestKeysOfBlocks(t *testing.T) {
	docs := newComments("../..")
	// These types are of this file, which is no source of the page.
	docs.packages[reflect.TypeFor[Block]().PkgPath()] = map[string]string{
		"Block.Times": "times", "Block.Every": "every", "Block.Last": "last", "Inner.Name": "name",
		"Time.Hour": "hour",
	}
	got, err := keys(reflect.ValueOf(Block{Every: metav1.Duration{Duration: time.Minute}}), "block.", docs)
	if err != nil {
		t.Fatal(err)
	}
	want := []key{
		{"block.name", "string", "", "name"},
		{"block.times", "map of objects", "", "times"},
		{"block.times.*.hour", "integer", "`0`", "hour"},
		{"block.every", "duration", "`1m0s`", "every"},
		{"block.last", "object", "", "last"},
		{"block.last.hour", "integer", "`0`", "hour"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigurationNeedsComments: a key without a doc comment fails the generator.
func TestConfigurationNeedsComments(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "pkg/config")
	source := "package config\n\ntype OperatorConfiguration struct {\n\tAPIVersion string\n}\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeConfiguration(io.Discard, newComments(root))
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
		"| `trainingjob_reports_total` | counter by `result` | 15 results | ",
		"| `trainingjob_loss` | gauge by `namespace`, `trainingjob` | up to jobs | ",
		"| `trainingjob_resume_seconds` | histogram by `namespace`, `queue` | namespaces × queues × 21 | ",
		"| `trainingjob_operator_reconcile_duration_seconds` | histogram | 19 | ",
		"| `trainingjob_server_panics_total` | counter | 1 | ",
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
