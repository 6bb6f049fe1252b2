package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/test/pythons"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0": "0.2.0", "v10.20.30": "10.20.30", "v0.2.0-alpha.0": "0.2.0a0", "v0.2.0-beta.2": "0.2.0b2",
		"v0.2.0-rc.1": "0.2.0rc1",
	} {
		if got, err := pythonVersion(version); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", version, got, err, want)
		}
	}
	for _, version := range []string{
		"", "0.2.0", "v0.2", "v0.02.0", "v0.2.0.1", "v0.2.0-rc", "v0.2.0-rc.01", "v0.2.0-rc1", "v0.2.0-rc.1.2",
		"v0.2.0-next.1", "v0.2.0+1", "v0.2.0\n",
	} {
		_, err := pythonVersion(version)
		check(t, version, fmt.Sprintf("the version %q", version), err)
		check(t, version, "v0.2.0, or v0.2.0-alpha.1, v0.2.0-beta.1 or v0.2.0-rc.1", err)
	}
}

// writeWheel of the package in this repository to a new folder.
func writeWheel(t *testing.T) *dist {
	t.Helper()
	d, err := newDist(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: filepath.Join("..", ".."), source: made, dist: d, options: valid()}
	r.options.version = "v0.2.0-rc.1"
	if err := r.wheel(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWheelIsReproducible: made twice, the bytes are the same, and the checksums include the wheel.
func TestWheelIsReproducible(t *testing.T) {
	d, again := writeWheel(t), writeWheel(t)
	if diff := cmp.Diff(d.sums, again.sums); diff != "" {
		t.Error("made twice (-first +second):\n" + diff)
	}
	if diff := cmp.Diff([]string{"trainingjob-0.2.0rc1-py3-none-any.whl"}, d.names()); diff != "" {
		t.Error("files (-want +got):\n" + diff)
	}
}

// TestWheelRecord: RECORD lists each file once, with its hash and size.
func TestWheelRecord(t *testing.T) {
	const record = "trainingjob-0.2.0rc1.dist-info/RECORD"
	d := writeWheel(t)
	files := unpackWheel(t, d)
	for _, name := range []string{"trainingjob/__init__.py", "trainingjob/py.typed",
		"trainingjob-0.2.0rc1.dist-info/METADATA", "trainingjob-0.2.0rc1.dist-info/WHEEL",
		"trainingjob-0.2.0rc1.dist-info/licenses/LICENSE"} {
		if _, ok := files[name]; !ok {
			t.Errorf("the wheel has no %s", name)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(files[record])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, row := range rows {
		got[row[0]] = row[1] + " " + row[2]
	}
	for name, content := range files {
		sum := sha256.Sum256([]byte(content))
		want[name] = fmt.Sprintf("sha256=%s %d", base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	want[record] = " "
	if diff := cmp.Diff(want, got); diff != "" || len(rows) != len(files) {
		t.Errorf("%d rows of %d files (-want +got):\n%s", len(rows), len(files), diff)
	}
}

// unpackWheel returns the contents of its files.
func unpackWheel(t *testing.T, d *dist) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, file := range unpack(t, filepath.Join(d.dir, d.names()[0])) {
		content, ok := strings.CutPrefix(file, "-rw-r--r-- ")
		if !ok {
			t.Errorf("the mode of %s: %.10s", name, file)
		}
		files[name] = content
	}
	return files
}

// pyproject prints the header of METADATA that follows from the fields of python/pyproject.toml.
const pyproject = `import json, sys, tomllib
file = tomllib.load(open(sys.argv[1], "rb"))
project = file["project"]
assert project["readme"] == "README.md" and project["dependencies"] == [], project
assert file["tool"]["setuptools"] == {
    "packages": ["trainingjob"], "package-data": {"trainingjob": ["py.typed"]}}, file["tool"]
lines = ["Metadata-Version: 2.4", "Name: " + project["name"], "Version: 0.2.0rc1",
    "Summary: " + project["description"], "License-Expression: " + project["license"],
    "License-File: LICENSE", "Requires-Python: " + project["requires-python"],
    "Description-Content-Type: text/markdown"]
for extra, requirements in project["optional-dependencies"].items():
    lines.append("Provides-Extra: " + extra)
    lines += [f'Requires-Dist: {r}; extra == "{extra}"' for r in requirements]
known = {"name", "version", "description", "readme", "license", "requires-python", "dependencies",
    "optional-dependencies"}
assert set(project) == known, f"{set(project) ^ known}: add them to wheelMetadata"
json.dump(lines, sys.stdout)`

// TestWheelMetadataMatchesPyproject compares with what Python reads from python/pyproject.toml. tomllib is in
// Python 3.11.
func TestWheelMetadataMatchesPyproject(t *testing.T) {
	found := pythons.Interpreters(t)
	var out, stderr bytes.Buffer
	for _, python := range found {
		out.Reset()
		stderr.Reset()
		cmd := exec.CommandContext(t.Context(), python, "-c", pyproject, "../../python/pyproject.toml")
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err == nil {
			break
		} else if !strings.Contains(stderr.String(), "No module named 'tomllib'") {
			t.Fatalf("%s: %v\n%s", python, err, &stderr)
		}
	}
	var want []string
	if err := json.Unmarshal(out.Bytes(), &want); err != nil {
		t.Fatalf("none of %v reads TOML: install Python 3.11 or newer\n%s", found, &stderr)
	}
	metadata := unpackWheel(t, writeWheel(t))["trainingjob-0.2.0rc1.dist-info/METADATA"]
	header, description, _ := strings.Cut(metadata, "\n\n")
	if diff := cmp.Diff(want, strings.Split(header, "\n")); diff != "" {
		t.Error("METADATA (-want +got):\n" + diff)
	}
	if !strings.HasPrefix(description, "# trainingjob\n") {
		t.Errorf("the description is not the README: %.40q", description)
	}
}

// TestWheelInstalls into an empty environment without network, with each interpreter. On Debian it needs
// python3-venv.
func TestWheelInstalls(t *testing.T) {
	d := writeWheel(t)
	wheel := filepath.Join(d.dir, d.names()[0])
	seen := map[string]bool{}
	for _, python := range pythons.Interpreters(t) {
		version := run(t, python, "-c", "import sys; print(sys.version)")
		if seen[version] {
			continue
		}
		seen[version] = true
		dir := t.TempDir()
		run(t, python, "-m", "venv", dir)
		run(t, filepath.Join(dir, "bin", "pip"), "install", "--no-index", "--disable-pip-version-check", wheel)
		// Isolated (-I): it sees neither this folder nor PYTHONPATH.
		got := run(t, filepath.Join(dir, "bin", "python"), "-I", "-c", `from importlib import metadata
from trainingjob import job
assert not job.should_save()
print(metadata.version("trainingjob"))`)
		if got != "0.2.0rc1" {
			t.Errorf("%s has installed version %s", python, got)
		}
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}
