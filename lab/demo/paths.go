package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folders of the repository that the demo reads.
const (
	storyFolder     = "examples/demo"
	crdFolder       = "deploy/crd"
	admissionFolder = "deploy/admission"
)

// findRoot is the repository's folder: the nearest above the working directory with the story's files.
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

// shortPath is relative where it lies below the working directory.
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

// shellPath holds in any folder that the user changes to, and is short.
func shellPath(path string) string {
	if short := shortPath(path); short != path {
		return "$PWD/" + short
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, home+"/") {
		return "~" + strings.TrimPrefix(path, home)
	}
	return path
}
