// Package tools finds the programs of lab/modules/tools, Helm among them, for tests that run them.
package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

var found struct {
	sync.Mutex
	paths map[string]string
}

// Path returns the path of a program, by the root of this repository: as make has built it, where that is
// up to date, else as Go keeps it in its cache.
func Path(repository, name string) (string, error) {
	found.Lock()
	defer found.Unlock()
	if path := found.paths[name]; path != "" {
		return path, nil
	}
	path, err := filepath.Abs(filepath.Join(repository, "bin/tools", name))
	if err != nil {
		return "", err
	}
	if !builtByMake(repository) {
		cmd := exec.Command("go", "-C", filepath.Join(repository, "lab/modules/tools"), "tool", "-n", name)
		// With make's flags, so that what is compiled is compiled once.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
		path = strings.TrimSpace(string(out))
	}
	if found.paths == nil {
		found.paths = map[string]string{}
	}
	found.paths[name] = path
	return path, nil
}

// builtByMake reports whether bin/tools is up to date, by the Makefile's own rule.
func builtByMake(repository string) bool {
	built, err := os.Stat(filepath.Join(repository, "bin/tools/built"))
	for _, file := range []string{"go.mod", "go.sum"} {
		var source os.FileInfo
		if err == nil {
			source, err = os.Stat(filepath.Join(repository, "lab/modules/tools", file))
		}
		if err != nil || source.ModTime().After(built.ModTime()) {
			return false
		}
	}
	return true
}
