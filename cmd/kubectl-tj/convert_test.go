package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = "apiVersion: kubeflow.org/v1\nkind: XGBoostJob\nmetadata: {name: a}\nspec: {xgbReplicaSpecs: " +
	"{Worker: {template: {spec: {containers: [{name: xgboost, image: i}]}}}}}\n"

const (
	job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n" +
		"spec: {template: {spec: {containers: [{name: c, image: i}]}}}\n"
	queued = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/queue-name: q}}\n" +
		"spec: {suspend: true, template: {spec: {containers: [{name: c, image: i}]}}}\n"
	runtimeOfTeam = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n" +
		"metadata: {name: team}\nspec: {mlPolicy: {jax: {}}, template: {spec: {replicatedJobs: [{name: node, " +
		"template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: " +
		"{spec: {containers: [{name: node, image: i}]}}}}}]}}}\n"
	trainJob = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n" +
		"spec: {runtimeRef: {name: team}, trainer: {numNodes: 4}}\n"
)

// TestConvert runs the command and checks both outputs and the exit code.
func TestConvert(t *testing.T) {
	warned := strings.Replace(good, "metadata: {name: a}", "metadata: {name: a, finalizers: [x]}", 1)
	cases := map[string]struct {
		reason, stdin  string
		args           []string
		code           int
		stdout, stderr string
	}{
		"stdin": {"- is stdin", good, []string{"-f", "-"}, 0, "kind: TrainingJob", ""},
		"JSON": {
			"one object is itself",
			good,
			[]string{"-f", "-", "-o", "json"},
			0,
			`"kind": "TrainingJob"`,
			"",
		},
		"several": {
			"--- separates documents",
			good + "---\n" + good,
			[]string{"-f", "-"},
			0,
			"\n---\napiVersion",
			"",
		},
		"list": {
			"several objects are a List",
			good + "---\n" + good,
			[]string{"-f", "-", "-o", "json"},
			0,
			`"kind": "List"`,
			"",
		},
		"namespace": {"of the results", good, []string{"-f", "-", "-n", "team-b"}, 0, "namespace: team-b", ""},
		"warning": {
			"it names file, document and field",
			warned,
			[]string{"-f", "-"},
			0,
			"kind: TrainingJob",
			"warning: stdin: document 1 (XGBoostJob a): metadata.finalizers: ",
		},
		"strict": {
			"a warning can fail a pipeline",
			warned,
			[]string{"-f", "-", "--strict"},
			exitWarnings,
			"",
			"warnings with --strict",
		},
		"one bad": {
			"nothing is printed of a file with a bad document",
			good + "---\nkind: A",
			[]string{"-f", "-"},
			exitError,
			"",
			"error: stdin: document 2 (A): kind: ",
		},
		"foreign job": {
			"kubectl apply would start it",
			good + "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {}",
			[]string{"-f", "-"},
			exitError,
			"",
			"error: stdin: document 2 (CronJob a): kind: batch/v1 CronJob cannot be converted",
		},
		"name": {"of the result", good, []string{"-f", "-", "--name", "bert"}, 0, "name: bert", ""},
		"name of two": {
			"two jobs cannot have one name",
			good + "---\n" + good,
			[]string{"-f", "-", "--name", "bert"},
			exitUsage,
			"",
			"--name bert is for one job, but the input has 2",
		},
		"framework": {
			"of a job that does not name one",
			job,
			[]string{"-f", "-", "--framework", "jax"},
			0,
			"framework: jax",
			"",
		},
		"no effect": {
			"a flag that a kind ignores is a warning",
			good,
			[]string{"-f", "-", "--framework", "jax"},
			0,
			"framework: xgboost",
			"kind: xgboostjob decides the framework: --framework jax has no effect",
		},
		"unknown framework": {
			"the known ones are listed",
			job,
			[]string{"-f", "-", "--framework", "torch"},
			exitUsage,
			"",
			`--framework: unknown framework "torch": use one of jax, mpi,`,
		},
		"Trainer": {
			"only one release is known",
			good,
			[]string{"-f", "-", "--trainer-version", "2.1"},
			exitUsage,
			"",
			`unknown --trainer-version "2.1": convert knows the runtimes of 2.3`,
		},
		"suspended by Kueue": {
			"it suspends again by itself",
			queued,
			[]string{"-f", "-"},
			0,
			"scheduler: kueue",
			"spec.suspend: is left out, because Kueue suspends jobs with a queue itself: --keep-suspend keeps it",
		},
		"suspended": {
			"the user may have done it",
			queued,
			[]string{"-f", "-", "--keep-suspend"},
			0,
			"suspend: true",
			"",
		},
		"only a runtime": {
			"it becomes nothing",
			runtimeOfTeam,
			[]string{"-f", "-"},
			exitError,
			"",
			"the input has only training runtimes: add the TrainJobs that name them",
		},
		"no YAML": {
			"the document is named",
			"a: b: c",
			[]string{"-f", "-"},
			exitError,
			"",
			"error: stdin: document 1: ",
		},
		"no file": {"the path is named", "", []string{"-f", "nowhere.yaml"}, exitError, "", "nowhere.yaml"},
		"no flag": {"a file is required", "", nil, exitUsage, "", "give a file with -f FILE"},
		"output": {
			"an unknown form",
			good,
			[]string{"-f", "-", "-o", "xml"},
			exitUsage,
			"",
			`unknown output "xml"`,
		},
		"flag": {"an unknown flag", "", []string{"--frobnicate"}, exitUsage, "", "unknown flag"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"convert"}, c.args...),
				streams{strings.NewReader(c.stdin), &out, &errs})
			if code != c.code || !strings.Contains(out.String(), c.stdout) ||
				!strings.Contains(errs.String(), c.stderr) {
				t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s", c.reason, code, c.code, &out, &errs)
			}
			if code != 0 && out.Len() > 0 {
				t.Errorf("it failed but printed %s", &out)
			}
			if len(c.args) > 3 && c.args[3] == "json" && !json.Valid(out.Bytes()) {
				t.Errorf("no JSON: %s", &out)
			}
		})
	}
}

// TestConvertFindsRuntimes: a TrainJob uses a runtime of any file, also of one that comes later.
func TestConvertFindsRuntimes(t *testing.T) {
	var args []string
	for _, content := range []string{trainJob, runtimeOfTeam} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", path)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), append([]string{"convert"}, args...), streams{nil, &out, &errs}); code != 0 {
		t.Fatal(code, errs.String())
	}
	for _, want := range []string{"framework: jax", "replicas: 4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "ClusterTrainingRuntime") {
		t.Errorf("the runtime is printed:\n%s", &out)
	}
}

func TestConvertReadsSeveralFiles(t *testing.T) {
	var args []string
	for _, name := range []string{"a.yaml", "b.yaml"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", path)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), append([]string{"convert"}, args...), streams{nil, &out, &errs}); code != 0 {
		t.Fatal(code, errs.String())
	}
	if n := strings.Count(out.String(), "kind: TrainingJob"); n != 2 {
		t.Errorf("%d jobs:\n%s", n, &out)
	}
}
