package components

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// copyManifests copies the YAML files of folder from into folder to, kustomizations excepted.
func copyManifests(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", to, err)
	}
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", from, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no YAML files in %s", from)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		if err := copyFile(file, filepath.Join(to, filepath.Base(file))); err != nil {
			return fmt.Errorf("copying %s: %w", file, err)
		}
	}
	return nil
}

// copyFile makes a copy that can be removed: files in the module cache are read-only, and so would be a copy
// that keeps the mode.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
