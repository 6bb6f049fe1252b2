package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/image"
)

// copies of a module in two folders. Its program says its version; with the tag other it is another program.
var module = map[string]string{
	"go.mod":                "module example.com/module\n\ngo 1.26.0\n",
	"cmd/operator/main.go":  "package main\n\nvar version = \"dev\"\n\nfunc main() { println(version) }\n",
	"cmd/operator/other.go": "//go:build other\n\npackage main\n\nfunc init() { println(\"other\") }\n",
}

// TestTwoBuildsAreTheSame builds one commit twice, by people with other folders, settings and clocks. The
// image's archive is the same, byte by byte.
func TestTwoBuildsAreTheSame(t *testing.T) {
	first := buildAndArchive(t, "v0.2.0")
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("TZ", "Asia/Tokyo")
	if second := buildAndArchive(t, "v0.2.0"); !bytes.Equal(first, second) {
		t.Error("two builds of the same files differ")
	}
	if other := buildAndArchive(t, "v0.3.0"); bytes.Equal(first, other) {
		t.Error("the builds of two versions are the same")
	}
}

func buildAndArchive(t *testing.T, version string) []byte {
	t.Helper()
	root := t.TempDir()
	for name, content := range module {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	on := platform{"linux", runtime.GOARCH}
	binaries, err := build(t.Context(), root, t.TempDir(), version, on, containerPrograms[0])
	if err != nil {
		t.Fatal(err)
	}
	o := valid()
	o.version = "v1.0.0" // the version in the binary is what counts here
	index, err := imageIndex(o, made, binaries)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := image.WriteArchive(&archive, o.imageName("x"), index, made.time); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// TestBuildForWindows: a binary has the name that its platform wants, and knows what it is linked from.
func TestBuildForWindows(t *testing.T) {
	if got := binaryName(plugin, platform{"windows", "arm64"}); got != "kubectl-tj.exe" {
		t.Errorf("the plugin is %s on Windows", got)
	}
}

// TestBuildFails: the error has the compiler's output.
func TestBuildFails(t *testing.T) {
	_, err := build(t.Context(), t.TempDir(), t.TempDir(), "v0.2.0", platform{"linux", "amd64"},
		containerPrograms[0])
	check(t, "a folder without a module", "go.mod", err)
}

// TestProgramsExist: what ships is a command of this module.
func TestProgramsExist(t *testing.T) {
	names := map[string]bool{}
	for _, p := range append([]program{plugin}, containerPrograms...) {
		if _, err := os.Stat(filepath.Join("..", "..", p.pkg, "main.go")); err != nil {
			t.Error(err)
		}
		names[p.binary()] = true
	}
	want := map[string]bool{"operator": true, "server": true, "agent": true, "kubectl-tj": true}
	if diff := cmp.Diff(want, maps.Collect(maps.All(names))); diff != "" {
		t.Error("binaries (-want +got):\n" + diff)
	}
}
