// Package pythons finds the interpreters with which the Python package is tested.
package pythons

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Interpreters are python3, and of Python 3.9 to 3.14 the oldest and the newest that PATH or pyenv have.
func Interpreters(t *testing.T) []string {
	t.Helper()
	python3, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the tests of the Python package need python3: install the package python3")
	}
	var found []string
	for minor := 9; minor <= 14; minor++ {
		version := fmt.Sprintf("3.%d", minor)
		pattern := filepath.Join(os.Getenv("HOME"), ".pyenv/versions", version+".*", "bin/python3")
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if path, err := exec.LookPath("python" + version); err == nil && len(paths) == 0 {
			paths = []string{path}
		}
		found = append(found, paths...)
	}
	if len(found) > 2 {
		found = []string{found[0], found[len(found)-1]}
	}
	return append([]string{python3}, found...)
}
