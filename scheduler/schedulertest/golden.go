package schedulertest

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scheduler dialects")

// Golden compares what Render returns for every sample with testdata/<sample>.yaml. go test -update writes
// the files; a file without a sample is an error.
func Golden(t *testing.T, b scheduler.Backend) { GoldenOf(t, b, Dialect{}) }

// GoldenOf is Golden with samples that are prepared for the dialect.
func GoldenOf(t *testing.T, b scheduler.Backend, d Dialect) {
	t.Helper()
	var names []string
	for _, s := range d.samples() {
		names = append(names, s.Name+".yaml")
		t.Run(s.Name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", s.Name+".yaml"), Render(t, b, s))
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, filepath.Base(f)) {
			t.Errorf("%s belongs to no sample: delete it", f)
		}
	}
}

// compare compares got with the golden file, or writes the file with -update.
func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing: go test -update writes it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Render returns what a backend makes of a sample: its objects and the pod of its last rank, joined, as YAML
// documents, or the errors of Validate.
func Render(t *testing.T, b scheduler.Backend, s Sample) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("# " + s.Reason + "\n")
	if errs := b.Validate(s.Gang); len(errs) > 0 {
		for _, err := range errs {
			out.WriteString("# refused: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n")
		}
		return out.Bytes()
	}
	objs, err := b.Objects(s.Gang)
	if err != nil {
		t.Fatal(err)
	}
	last := s.Gang.Roles[len(s.Gang.Roles)-1]
	pod := Pod(s.Gang, last, last.Replicas-1)
	b.Join(pod, s.Gang, admitted)
	for i, o := range append(objs, client.Object(pod)) {
		doc, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(doc)
	}
	return out.Bytes()
}
