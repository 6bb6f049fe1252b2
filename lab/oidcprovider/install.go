package oidcprovider

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

//go:embed package.json package-lock.json .npmrc server.mjs
var files embed.FS

// names of the files, in the order in which they are hashed.
var names = []string{".npmrc", "package-lock.json", "package.json", "server.mjs"}

// install returns the folder with the program, which it makes where it is not in the cache yet.
func install(ctx context.Context) (string, error) {
	cache, err := components.FindCache("")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	folder := filepath.Join(cache, "oidcprovider-"+hex.EncodeToString(hash.Sum(nil))[:12])
	lock, err := filelock.Wait(ctx, folder+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	made, err := os.MkdirTemp(cache, "oidcprovider-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the OpenID provider: %w", err)
	}
	if err := fill(ctx, made); err != nil {
		return "", errors.Join(err, os.RemoveAll(made))
	}
	if err := os.Rename(made, folder); err != nil {
		return "", errors.Join(fmt.Errorf("installing the OpenID provider: %w", err), os.RemoveAll(made))
	}
	return folder, nil
}

// fill a folder with the program and its packages, exactly those of the lock file. No package runs a script.
func fill(ctx context.Context, folder string) error {
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return fmt.Errorf("writing the OpenID provider: %w", err)
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("installing the OpenID provider (it needs Debian's nodejs and npm): %w\n%s", err, out)
	}
	return nil
}
