package components

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// FindModules returns the folder lab/modules: the given one, or, when that is empty, the one in the clone
// that holds the working directory.
func FindModules(modules string) (string, error) {
	if modules == "" {
		root, err := FindRoot()
		if err != nil {
			return "", fmt.Errorf("%w; name its folder lab/modules (--modules)", err)
		}
		return filepath.Join(root, "lab", "modules"), nil
	}
	abs, err := filepath.Abs(modules)
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", modules, err)
	}
	if !isDir(filepath.Join(abs, Kubernetes)) {
		return "", fmt.Errorf("%s is not the folder lab/modules: it has no %s", abs, Kubernetes)
	}
	return abs, nil
}

// FindRoot returns the root of the repository: the first folder with our go.mod on the way up from the
// working directory.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module "+modulePath+"\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("this is not inside a clone of " + modulePath)
		}
		dir = parent
	}
}

// FindCache returns the folder for built components, and creates it. Default: the user's cache folder.
func FindCache(cache string) (string, error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the user's cache folder: %w", err)
		}
		cache = filepath.Join(user, "trainingjob-operator")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("resolving the cache folder: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	return cache, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
