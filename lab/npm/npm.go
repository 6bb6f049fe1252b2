// Package npm answers one question: where is a program of Node.js, or a file of one of its packages, that a
// test needs?
//
// What a package.json and its package-lock.json name is installed by the lock's hashes into the user's cache,
// once for each content. It needs npm, which Debian has as a package of that name. Nothing of it is part of
// the product.
package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// Install returns a folder with the files, package.json and package-lock.json among them, and beside them
// node_modules. name begins the folder's.
func Install(ctx context.Context, name string, files fs.FS) (string, error) {
	cache, err := components.FindCache("")
	if err != nil {
		return "", err
	}
	sum, err := hash(files)
	if err != nil {
		return "", fmt.Errorf("reading the files of %s: %w", name, err)
	}
	folder := filepath.Join(cache, name+"-"+sum)
	lock, err := filelock.Wait(ctx, folder+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	made, err := os.MkdirTemp(cache, name+"-")
	if err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", name, err)
	}
	if err := fill(ctx, made, files); err != nil {
		return "", errors.Join(fmt.Errorf("installing %s: %w", name, err), os.RemoveAll(made))
	}
	if err := os.Rename(made, folder); err != nil {
		return "", errors.Join(fmt.Errorf("installing %s: %w", name, err), os.RemoveAll(made))
	}
	return folder, nil
}

// hash of the files' names and contents.
func hash(files fs.FS) (string, error) {
	all := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(all, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(all.Sum(nil))[:12], err
}

// fill a folder with the files and their packages, exactly those of the lock file. No package runs a script.
func fill(ctx context.Context, folder string, files fs.FS) error {
	if err := os.CopyFS(folder, files); err != nil {
		return err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}
