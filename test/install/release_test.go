//go:build e2e

package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// manifest of the release that is installed.
const manifest = "install-reports.yaml"

// release makes the images and the manifests of a release, for this machine's architecture alone. It returns
// the archives of the images.
func (a *admin) release() []string {
	a.t.Helper()
	for _, what := range []string{"images", "manifests"} {
		run(a.t, "go", "run", "./cmd/release", what, "--version", "v0.0.0-e2e", "--registry",
			"registry.example.com/e2e", "--arch", runtime.GOARCH, "--out", a.dist())
	}
	archives, err := filepath.Glob(filepath.Join(a.dist(), "*.tar"))
	if err != nil || len(archives) < 2 {
		a.t.Fatalf("the release has the images %v, want operator and agent: %v", archives, err)
	}
	return archives
}

// dist is the release's folder.
func (a *admin) dist() string { return filepath.Join(a.dir, "dist") }

// trainer is the archive of the trainer's image.
func (a *admin) trainer() string {
	a.t.Helper()
	program, archive := filepath.Join(a.dir, "gotrainer"), filepath.Join(a.dir, "gotrainer.tar")
	run(a.t, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./examples/gotrainer")
	image := localcluster.Image{
		Name: trainerImage, Files: map[string]string{"/gotrainer": program}, Entrypoint: []string{"/gotrainer"},
	}
	if err := image.Write(archive); err != nil {
		a.t.Fatal(err)
	}
	return archive
}

// run a command in the root of the repository.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
