//go:build e2e

package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/debian"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/tools"
)

const (
	registry     = "registry.example.com/e2e"
	trainerImage = "registry.example.com/pytorch:1"
	// manifest of the release that is installed.
	manifest = "install-reports.yaml"
)

// release is a folder that cmd/release has filled.
type release struct{ dir, version string }

// images are the archives of the release's images.
func (r release) images(t *testing.T) []string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(r.dir, "*.tar"))
	if err != nil || len(archives) < 2 {
		t.Fatalf("the release has the images %v, want operator and agent: %v", archives, err)
	}
	return archives
}

// chart is the archive of the release's chart.
func (r release) chart() string {
	return filepath.Join(r.dir, "trainingjob-operator-"+strings.TrimPrefix(r.version, "v")+".tgz")
}

// quickRelease makes of this tree what a cluster of this machine's architecture needs.
func quickRelease(t *testing.T) release {
	t.Helper()
	r := release{filepath.Join(t.TempDir(), "dist"), "v0.0.0-e2e"}
	for _, what := range []string{"images", "manifests", "chart"} {
		run(t, repository, "go", "run", "./cmd/release", what, "--version", r.version, "--registry", registry,
			"--arch", runtime.GOARCH, "--out", r.dir, "--helm", helmPath(t))
	}
	return r
}

// fullRelease is what make release makes of a commit, in a clone of its own, with its checksums verified.
func fullRelease(t *testing.T, commit, version string) release {
	t.Helper()
	origin, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	run(t, ".", "git", "clone", "--quiet", "--no-checkout", origin, tree)
	if out, err := exec.CommandContext(t.Context(), "git", "-C", tree, "checkout", "--quiet", "--detach",
		commit).CombinedOutput(); err != nil {
		t.Fatalf("checking out %s, which a shallow clone lacks (git fetch --unshallow): %v\n%s", commit, err, out)
	}
	run(t, tree, "make", "release", "VERSION="+version, "REGISTRY="+registry)
	r := release{filepath.Join(tree, "dist"), version}
	run(t, r.dir, "sha256sum", "--check", "--strict", "checksums.txt")
	return r
}

func helmPath(t *testing.T) string {
	t.Helper()
	path, err := tools.Path(repository, "helm")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// trainer writes the archive of the training's image and returns its path.
func trainer(t *testing.T, archive string) string {
	t.Helper()
	rootfs, err := debian.PyTorch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image := localcluster.Image{
		Name: trainerImage, Layers: []string{rootfs},
		Files:      map[string]string{"/opt/train.py": filepath.Join(repository, "examples/pytorch/train.py")},
		Entrypoint: []string{"/usr/bin/python3"}, Env: []string{"OMP_NUM_THREADS=1"},
	}
	if err := image.Write(archive); err != nil {
		t.Fatal(err)
	}
	return archive
}

// run a command in a folder.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
