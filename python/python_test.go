// Package python tests the Python package trainingjob against the agent's parsers.
package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/test/pythons"
)

func run(t *testing.T, python string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=error")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", python, err, out)
	}
}

func TestUnits(t *testing.T) {
	for _, python := range pythons.Interpreters(t) {
		run(t, python, "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	}
}

// TestSyntaxIsOfPython39 also where Python 3.9 is not installed.
func TestSyntaxIsOfPython39(t *testing.T) {
	run(t, pythons.Interpreters(t)[0], "-c", `import ast, glob
files = glob.glob("trainingjob/*.py")
assert files
for file in files:
    ast.parse(open(file).read(), file, feature_version=(3, 9))`)
}

// TestAgentAcceptsWhatThePackageWrites runs a trainer that saves on a command of the agent.
func TestAgentAcceptsWhatThePackageWrites(t *testing.T) {
	for _, tc := range []struct{ name, dir, commit string }{
		{"volume", "", `os.makedirs(path); open(path + "/model.pt", "w").write("weights")`},
		{"object store", "s3://bucket/job/attempt-1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			command, err := checkpoint.Encode(checkpoint.Command{
				Command: checkpoint.CommandCheckpointAndExit, ID: "drain-3",
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "command.json"), command, 0o600); err != nil {
				t.Fatal(err)
			}
			target := tc.dir
			if target == "" {
				target = filepath.Join(dir, "attempt-1")
			}
			t.Setenv(checkpoint.EnvDir, target)
			t.Setenv(checkpoint.EnvStatusFile, filepath.Join(dir, "status.json"))
			t.Setenv(checkpoint.EnvCommandFile, filepath.Join(dir, "command.json"))
			t.Setenv(checkpoint.EnvBeatFile, filepath.Join(dir, "beat"))
			t.Setenv(checkpoint.EnvJobUID, "0a1b")
			run(t, pythons.Interpreters(t)[0], "-c", strings.Join([]string{
				`import os`,
				`from trainingjob import job`,
				`metrics = {f"m{i}": float(x) for i, x in enumerate(["nan", "-inf", "inf", "1e-300", "-2.5e+30"])}`,
				`job.report(7, total=9, epoch=0.5, total_epochs=3, step_seconds=1e-5, metrics=metrics)`,
				`job.report(7, batch="a1", weights="0f", loaded="/checkpoints/attempt-1/step-6")`,
				`assert job.should_save() and job.should_stop`,
				`path = job.checkpoint_path(7)`,
				tc.commit,
				`job.commit(path, 7)`,
				`job.beat(7, phase="Waiting", where="storage", busy=2.5)`,
			}, "\n"))
			beat, err := os.ReadFile(filepath.Join(dir, "beat"))
			if err != nil {
				t.Fatal(err)
			}
			line, err := checkpoint.ParseBeatLine(beat)
			if err != nil || *line.Step != 7 || line.Phase != checkpoint.PhaseWaiting || line.Where != "storage" ||
				line.Busy != 2.5 {
				t.Errorf("%q: %+v, %v", beat, line, err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "status.json"))
			if err != nil {
				t.Fatal(err)
			}
			status, err := checkpoint.ParseStatus(data)
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			if status.Step != 7 || status.CommandID != "drain-3" || len(status.Metrics) != 5 || status.Batch != "a1" ||
				status.Weights != "0f" || status.Loaded != "/checkpoints/attempt-1/step-6" {
				t.Errorf("status: %s", data)
			}
			if tc.dir != "" {
				if c := status.Checkpoint; c == nil || c.State != checkpoint.SaveCommitted || c.Step != 7 {
					t.Errorf("status without the commit: %s", data)
				}
				return
			}
			c, err := checkpoint.Resolve(os.DirFS(dir), ".", checkpoint.Options{JobUID: "0a1b"}, nil)
			if err != nil || c.Point == nil || c.Point.Step != 7 || c.Found.Layout != checkpoint.LayoutManifest {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}
