package tfjobadmin_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// TestDescribe compares the descriptions of the TrainingJobs in testdata/describe with golden files. Most of
// them were not made in this dialect.
func TestDescribe(t *testing.T) {
	paths, err := filepath.Glob("testdata/describe/*.in.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("inputs %v, %v", paths, err)
	}
	describer := tfjobadmin.Describer{
		UserKeys: []string{v1alpha1.AnnotationUser, "owner"}, Runtimes: []tfjobadmin.Runtime{tensorflow()},
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			job := &v1alpha1.TrainingJob{}
			if err := yaml.UnmarshalStrict(data, job); err != nil {
				t.Fatal(err)
			}
			described, err := yaml.Marshal(describer.Describe(job))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.Replace(path, ".in.", ".out.", 1), string(described))
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestPhases: every phase of the API has one in the dialect, as docs/tfjob.md lists them.
func TestPhases(t *testing.T) {
	docs, err := os.ReadFile("../../docs/tfjob.md")
	if err != nil {
		t.Fatal(err)
	}
	for phase, want := range map[v1alpha1.Phase]tfjobadmin.Phase{
		v1alpha1.PhasePending: tfjobadmin.PhasePending, v1alpha1.PhaseQueued: tfjobadmin.PhasePending,
		v1alpha1.PhaseStarting: tfjobadmin.PhasePending, v1alpha1.PhaseRunning: tfjobadmin.PhaseRunning,
		v1alpha1.PhaseDraining:   tfjobadmin.PhaseStopping,
		v1alpha1.PhaseRestarting: tfjobadmin.PhaseRestarting, v1alpha1.PhaseSuspended: tfjobadmin.PhaseSuspended,
		v1alpha1.PhaseSucceeded: tfjobadmin.PhaseSucceeded, v1alpha1.PhaseFailed: tfjobadmin.PhaseFailed,
	} {
		if got := tfjobadmin.PhaseOf(phase); got != want {
			t.Errorf("%s is %s, want %s", phase, got, want)
		}
		if row := fmt.Sprintf("| %s | `%s` |", phase, want); !strings.Contains(string(docs), row) {
			t.Errorf("docs/tfjob.md has no row %s", row)
		}
	}
	if got := tfjobadmin.PhaseOf(""); got != tfjobadmin.PhasePending {
		t.Errorf("a job without a phase is %s", got)
	}
}

// TestParseID: an ID is a name and a UID, and a name alone is one too.
func TestParseID(t *testing.T) {
	const uid = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
	for id, want := range map[string][2]string{
		"mnist." + uid:   {"mnist", uid},
		"mnist":          {"mnist", ""},
		"a.b." + uid:     {"a.b", uid},
		"mnist.12345678": {"mnist.12345678", ""},
		"":               {"", ""},
	} {
		name, got := tfjobadmin.ParseID(id)
		if name != want[0] || string(got) != want[1] {
			t.Errorf("%q is %q and %q", id, name, got)
		}
	}
}

// TestFieldOf: a refusal of the TrainingJob API is about a field of the document.
func TestFieldOf(t *testing.T) {
	const env = "spec.replicaSpecs[PS].template.spec.containers[0].env[0].name"
	both := `{"spec": {"args": "-x", "replicas": [{"count": 2}]}}`
	cases := map[string]struct{ document, path, field, change string }{
		"name":       {`{"name": "A"}`, "metadata.name", "name", "name"},
		"count":      {`{"conut": 3}`, "spec.replicaSpecs[Worker].replicas", "conut", "conut"},
		"variable":   {`{"environment": "A=1"}`, env, "environment", "environment"},
		"all roles":  {both, "spec.replicaSpecs", "spec.replicas", "spec.args"},
		"roles":      {`{"count": 2}`, "spec.replicaSpecs", "count", "count"},
		"not given":  {`{"spec": {}}`, "spec.checkpoint.path", "spec.checkpointDir", "spec.checkpointDir"},
		"elsewhere":  {`{"spec": {}}`, "spec.runPolicy", "spec", "spec"},
		"no path":    {`{"args": ""}`, "", "<nil>", "<nil>"},
		"a template": {`{"workerdir": "/a"}`, "spec.replicaSpecs[Worker].template", "replicas", "workerdir"},
		"nothing":    {`{}`, "spec.replicaSpecs", "replicas", "replicas"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			request, problems := tfjobadmin.Read([]byte(c.document))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := request.FieldOf(c.path).String(); got != c.field {
				t.Errorf("%s maps to %s, want %s", c.path, got, c.field)
			}
			if got := request.ChangeOf(c.path).String(); got != c.change {
				t.Errorf("%s maps to %s, want %s", c.path, got, c.change)
			}
		})
	}
}
