package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program returns the path of a program for the test: one of those that "make build" builds.
func Program(t *testing.T, name string) string {
	t.Helper()
	path, err := BuildProgram(t.Context(), t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// BuildProgram returns the path of a program that "make build" builds. The test runner sets TJ_BIN to the
// folder where it has built them; otherwise BuildProgram builds the program into dir.
func BuildProgram(ctx context.Context, dir, name string) (string, error) {
	if built := os.Getenv("TJ_BIN"); built != "" {
		path := filepath.Join(built, name)
		_, err := os.Stat(path)
		return path, err
	}
	path := filepath.Join(dir, name)
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path,
		"mlplatform.example.com/trainingjob-operator/cmd/"+name).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return path, nil
}
