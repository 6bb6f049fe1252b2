package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Files of the repository that the demo reads.
const (
	storyFolder     = "examples/demo"
	crdFolder       = "deploy/crd"
	visitorFile     = "lab/demo/visitor.yaml"
	admissionFolder = "deploy/admission"
)

// findRoot is the root of the repository: the nearest folder with the story's files on the way up from the
// working directory.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, storyFolder)); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("found no folder %s in %s or above; play the demo inside the repository",
				storyFolder, start)
		}
	}
}

// shortPath makes paths below the working directory relative.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}

// shellPath is a short path for a shell that is valid in any working directory.
func shellPath(path string) string {
	if short := shortPath(path); short != path {
		return "$PWD/" + short
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, home+"/") {
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}
