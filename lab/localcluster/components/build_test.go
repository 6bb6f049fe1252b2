package components

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func silently(string) {}

// tinyComponent is a module of its own that needs no network to build.
func tinyComponent(t *testing.T, source string) builder {
	t.Helper()
	dir, cache := t.TempDir(), t.TempDir()
	files := map[string]string{
		"go.mod":            "module example.com/tiny\n\ngo 1.26\n",
		"cmd/hello/main.go": source,
		"manifests/a.yaml":  "kind: A\n",
		"manifests/b.txt":   "",
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	return builder{
		component: component{
			name:     "tiny",
			binaries: map[string]string{"example.com/tiny/cmd/hello": "greet"},
			files:    []moduleFiles{{"example.com/tiny", "manifests", CRDFolder}},
		},
		source: dir,
		target: filepath.Join(cache, "tiny-0"),
	}
}

func TestBuildOnce(t *testing.T) {
	b := tinyComponent(t, "package main\nfunc main() { print(\"hello\") }\n")
	if built, err := b.ensure(t.Context(), silently); err != nil || !built {
		t.Fatal(built, err)
	}
	out, err := exec.Command(filepath.Join(b.target, "greet")).CombinedOutput()
	if err != nil || string(out) != "hello" {
		t.Errorf("the binary says %q, %v", out, err)
	}
	copied, err := filepath.Glob(filepath.Join(b.target, CRDFolder, "*"))
	if err != nil || len(copied) != 1 {
		t.Errorf("copied %v, %v; want a.yaml alone", copied, err)
	}
	// What is there is not built again: this could not be.
	b.source = filepath.Join(b.source, "nowhere")
	if built, err := b.ensure(t.Context(), silently); err != nil || built {
		t.Errorf("building what is there: built %v, %v", built, err)
	}
}

func TestBuildTellsTheCompilersError(t *testing.T) {
	b := tinyComponent(t, "package main\nfunc main() { undefinedName() }\n")
	_, err := b.ensure(t.Context(), silently)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefinedName") {
		t.Errorf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(b.target), "tiny-0*"))
	if diff := cmp.Diff([]string{b.target + ".lock"}, left); diff != "" || err != nil {
		t.Errorf("left behind (-want +got), %v:\n%s", err, diff)
	}
}

func TestGoBinaryName(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":            "server",
		"k8s.io/kubernetes/cmd/kube-scheduler": "kube-scheduler",
		"example.com/cmd/volcano":              "volcano",
	} {
		if got := goBinaryName(pkg); got != want {
			t.Errorf("%s: got %s, want %s", pkg, got, want)
		}
	}
}

func TestFindModules(t *testing.T) {
	modules, err := FindModules("")
	if err != nil || !strings.HasSuffix(modules, filepath.Join("lab", "modules")) {
		t.Errorf("from here: %s, %v", modules, err)
	}
	if _, err := FindModules(t.TempDir()); err == nil {
		t.Error("a folder without module files was taken")
	}
	t.Chdir(t.TempDir())
	if _, err := FindModules(""); err == nil || !strings.Contains(err.Error(), "--modules") {
		t.Errorf("outside of a clone: %v", err)
	}
}

func TestBuildLog(t *testing.T) {
	phase := ""
	log := &buildLog{tell: func(now string) { phase = now }}
	for _, part := range []string{
		"go: downloading a v1\ngo: down", "loading b v2\nexample.com/a\n",
		"# example.com/a\na.go:1:2: undefined: x\n", "cut o",
	} {
		if n, err := log.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if log.downloaded != 2 || log.compiled != 1 || phase != "1 packages compiled" {
		t.Errorf("counted %d downloads and %d packages, phase %q", log.downloaded, log.compiled, phase)
	}
	if diff := cmp.Diff("# example.com/a\na.go:1:2: undefined: x\ncut o", log.tail()); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

func TestBuildPhase(t *testing.T) {
	for want, counts := range map[string][2]int{
		"3 modules downloaded": {3, 0},
		"5 packages compiled":  {0, 5},
		"7 packages compiled":  {3, 7},
	} {
		if got := buildPhase(counts[0], counts[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What is in the cache is neither built nor mentioned; a component that is missing is built by its number.
func TestProgressCountsWhatIsMissing(t *testing.T) {
	source := "package main\nfunc main() {}\n"
	var out strings.Builder
	if err := buildMissing(t.Context(), nil, &out); err != nil || out.Len() > 0 {
		t.Errorf("nothing is missing: %v, printed %q", err, out.String())
	}
	if err := buildMissing(t.Context(), []builder{tinyComponent(t, source)}, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "tiny ") || !strings.HasSuffix(got, "  built\n") {
		t.Errorf("printed %q", got)
	}
}

// TestDownloadOnNewMachine: go.sum is complete, and the module cache has no file of the module.
func TestDownloadOnNewMachine(t *testing.T) {
	proxy, source := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	versions := filepath.Join(proxy, "example.com", "edited", "@v")
	write(filepath.Join(versions, "v1.0.0.info"), `{"Version": "v1.0.0"}`)
	write(filepath.Join(versions, "v1.0.0.mod"), "module example.com/edited\n")
	write(filepath.Join(source, "go.mod"), "module example.com/tiny\n\nrequire example.com/edited v1.0.0\n")
	archive, err := os.Create(filepath.Join(versions, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(archive)
	files := map[string]string{"go.mod": "module example.com/edited\n", "a.go": "package edited\n"}
	for name, text := range files {
		f, err := z.Create("example.com/edited@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	if _, err := goCommand(t.Context(), source, "mod", "download", "example.com/edited"); err != nil {
		t.Fatal(err) // it writes go.sum
	}
	t.Setenv("GOMODCACHE", t.TempDir())
	dir, err := builder{source: source}.download(t.Context(), "example.com/edited")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.go")); err != nil {
		t.Errorf("the module's folder is %q: %v", dir, err)
	}
}
