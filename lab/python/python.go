// Package python makes layers of container images with frameworks from PyPI, for tests that train with their
// current releases.
//
// What locks/NAME.txt lists is installed by its hashes, once for each content, into the folder of the
// cluster's programs. Nothing of it is part of the product. After a change of locks/NAME.in, or for newer
// releases:
//
//	uv pip compile --generate-hashes --no-annotate --python-version 3.13 \
//	  --python-platform x86_64-manylinux_2_28 --upgrade NAME.in --output-file NAME.txt
package python

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
	"runtime"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// Path of the installed packages in an image with the layer, for PYTHONPATH.
const Path = "/opt/python"

// version of Python that Debian 13 has, and the layers are for.
const version = "3.13"

//go:embed locks/*.txt
var locks embed.FS

// Layer returns the path of a tar of the packages in locks/NAME.txt, at Path. It needs python3 with pip.
func Layer(ctx context.Context, name string) (string, error) {
	lock, err := locks.ReadFile("locks/" + name + ".txt")
	if err != nil {
		return "", fmt.Errorf("there is no lock for %s: %w", name, err)
	}
	cache, err := components.FindCache("")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(version+runtime.GOARCH), lock...))
	path := filepath.Join(cache, "python-"+name+"-"+hex.EncodeToString(sum[:])[:12]+".tar")
	held, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer held.Close()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "installing the Python packages of "+name+", once")
	if err := pack(ctx, cache, name, path); err != nil {
		return "", fmt.Errorf("installing the Python packages of %s: %w", name, err)
	}
	return path, nil
}

// pack installs a lock's packages into a folder, and makes a tar of it.
func pack(ctx context.Context, cache, name, path string) (err error) {
	dir, err := os.MkdirTemp(cache, "python-"+name+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.CopyFS(dir, locks); err != nil {
		return err
	}
	draft := in("layer.tar")
	for _, command := range [][]string{
		{"python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
			"--require-hashes", "--target", in("uv"), "--requirement", in("locks/uv.txt")},
		{in("uv/bin/uv"), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-cache",
			"--target", in("root" + Path), "--python-version", version, "--python-platform", platform(),
			"--requirement", in("locks/" + name + ".txt")},
		{"tar", "--create", "--file", draft, "--owner=0", "--group=0", "--directory", in("root"), "."},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command[0], err, out)
		}
	}
	return os.Rename(draft, path)
}

func platform() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-manylinux_2_28"
	}
	return "x86_64-manylinux_2_28"
}
