package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const values = `# whose
image:
  repository: example.com/a # ours
  tag: ""
agentImage: {repository: ""}
server: {image: {repository: registry.example.com/server}}
`

// chartArchive as Helm writes it, out of order.
func chartArchive(t *testing.T, values string) []byte {
	t.Helper()
	var out bytes.Buffer
	err := writeTarGz(&out, []entry{
		{"jobs/Chart.yaml", 0o644, []byte("name: jobs\n")},
		{"jobs/values.yaml", 0o644, []byte(values)},
		{"jobs/templates/pod.yaml", 0o644, []byte("{{ .Values.image }}\n")},
		{"jobs/charts/other/values.yaml", 0o644, []byte("image: {}\n")},
	}, made.time)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestChart: the archive names our images, and else has what Helm packaged, in the order of the paths.
func TestChart(t *testing.T) {
	got, err := chartEntries(chartArchive(t, values), valid())
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"jobs/Chart.yaml", 0o644, []byte("name: jobs\n")},
		{"jobs/charts/other/values.yaml", 0o644, []byte("image: {}\n")},
		{"jobs/templates/pod.yaml", 0o644, []byte("{{ .Values.image }}\n")},
		{"jobs/values.yaml", 0o644, []byte(strings.NewReplacer(
			"example.com/a", "registry.example.com/team/trainingjob-operator",
			"registry.example.com/server", "registry.example.com/team/trainingjob-server",
			`{repository: ""}`, `{repository: "registry.example.com/team/trainingjob-agent"}`,
		).Replace(values))},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Error("entries (-want +got):\n" + diff)
	}
}

// TestChartLacks: what a release sets and a chart does not have would not be set.
func TestChartLacks(t *testing.T) {
	_, err := chartEntries(chartArchive(t, "image: {repository: x}\n"), valid())
	check(t, "values without agentImage", "there is no agentImage.repository", err)
}
