package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestChart: Helm finds a chart's files below a folder of its name, and the release's version in Chart.yaml.
func TestChart(t *testing.T) {
	name, entries, err := chartEntries(fstest.MapFS{
		"Chart.yaml":           {Data: []byte("# a chart\napiVersion: v2\nname: jobs\nversion: 0.0.0\n")},
		"values.yaml":          {Data: []byte("a: 1\n")},
		"templates/a/pod.yaml": {Data: []byte("{{ .Values.a }}\n")},
	}, "v0.2.0-rc.1")
	if err != nil || name != "jobs" {
		t.Fatal(name, err)
	}
	got := map[string]string{}
	var order []string
	for _, e := range entries {
		got[e.name] = string(e.content)
		order = append(order, e.name)
	}
	want := []string{"jobs/Chart.yaml", "jobs/templates/a/pod.yaml", "jobs/values.yaml"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error("files (-want +got):\n" + diff)
	}
	if got["jobs/templates/a/pod.yaml"] != "{{ .Values.a }}\n" || got["jobs/values.yaml"] != "a: 1\n" {
		t.Errorf("files %v", got)
	}
	for _, line := range []string{"# a chart", "name: jobs", "version: 0.2.0-rc.1", "appVersion: v0.2.0-rc.1"} {
		if !strings.Contains(got["jobs/Chart.yaml"], line+"\n") {
			t.Errorf("Chart.yaml lacks %q:\n%s", line, got["jobs/Chart.yaml"])
		}
	}
	if _, _, err := chartEntries(fstest.MapFS{"values.yaml": {}}, "v0.2.0"); err == nil {
		t.Error("a folder without Chart.yaml was packaged")
	}
}
