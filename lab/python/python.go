// Package python installs packages from PyPI for tests: into layers of container images, to train with the
// current releases of frameworks, and into virtual environments of this machine, for servers.
//
// What locks/NAME.txt lists is installed by its hashes, once for each content, into the folder of the
// cluster's programs. Nothing of it is part of the product. After a change of locks/NAME.in, or for newer
// releases, run in locks/ for a layer:
//
//	uv pip compile --generate-hashes --no-annotate --python-version 3.13 \
//	  --python-platform x86_64-manylinux_2_28 --upgrade NAME.in --output-file NAME.txt
//
// and for an environment, which Python 3.11 and newer can have:
//
//	uv pip compile --generate-hashes --no-annotate --python-version 3.11 --universal \
//	  --excludes NAME.excludes --upgrade NAME.in --output-file NAME.txt
//
// NAME.excludes lists requirements that are not installed, because what the tests run never imports them.
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
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// Path of the installed packages in an image with the layer, for PYTHONPATH.
const Path = "/opt/python"

// Version returns the version of Python that a layer is for: that of Debian 13, or of Debian 12 for packages
// that no newer one runs.
func Version(name string) string {
	if name == "mxnet" {
		return "3.11"
	}
	return "3.13"
}

//go:embed locks/*.txt
var locks embed.FS

// Layer returns the path of a tar of the packages in locks/NAME.txt, at Path. It needs python3 with pip.
func Layer(ctx context.Context, name string) (string, error) {
	version := Version(name)
	return install(ctx, name, version+runtime.GOARCH, "layer.tar", func(in func(string) string) [][]string {
		return [][]string{
			packages(in, name, "--target", in("root"+Path), "--python-version", version,
				"--python-platform", platform()),
			{"tar", "--create", "--file", in("layer.tar"), "--owner=0", "--group=0", "--directory", in("root"), "."},
		}
	})
}

// Environment returns the path of a Python interpreter that has the packages in locks/NAME.txt, in a virtual
// environment that sees no other packages. It needs python3 with pip, and no compiler.
func Environment(ctx context.Context, name string) (string, error) {
	const identity = "import sys; print(sys.executable); print(sys.version)"
	host, err := exec.CommandContext(ctx, "python3", "-c", identity).Output()
	if err != nil {
		return "", fmt.Errorf("running python3 (Debian's package of that name): %w", err)
	}
	interpreter, _, _ := strings.Cut(string(host), "\n")
	folder, err := install(ctx, name, string(host), "environment", func(in func(string) string) [][]string {
		return [][]string{
			{in("uv/bin/uv"), "venv", "--quiet", "--no-cache", "--no-python-downloads", "--relocatable",
				"--python", interpreter, in("environment")},
			packages(in, name, "--no-build", "--python", in("environment")),
		}
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "bin", "python"), nil
}

// packages returns the command that installs the packages of a lock.
func packages(in func(string) string, name string, where ...string) []string {
	command := []string{in("uv/bin/uv"), "pip", "install", "--quiet", "--no-deps", "--require-hashes",
		"--no-cache", "--requirement", in("locks/" + name + ".txt")}
	return append(command, where...)
}

// install returns the path in the cache of a file or folder that commands make of a lock's packages. It keeps
// one for each content of the lock and of suits, which is what else they depend on.
func install(
	ctx context.Context, name, suits, made string, commands func(in func(string) string) [][]string,
) (string, error) {
	lock, err := locks.ReadFile("locks/" + name + ".txt")
	if err != nil {
		return "", fmt.Errorf("there is no lock for %s: %w", name, err)
	}
	cache, err := components.FindCache("")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(suits), lock...))
	path := filepath.Join(cache, "python-"+name+"-"+hex.EncodeToString(sum[:])[:12]+filepath.Ext(made))
	held, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer held.Close()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "installing the Python packages of "+name+", once")
	if err := run(ctx, cache, name, path, made, commands); err != nil {
		return "", fmt.Errorf("installing the Python packages of %s: %w", name, err)
	}
	return path, nil
}

// run runs the commands in a temporary folder that has uv and the locks, and moves what they made to path.
func run(
	ctx context.Context, cache, name, path, made string, commands func(in func(string) string) [][]string,
) (err error) {
	dir, err := os.MkdirTemp(cache, "python-"+name+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.CopyFS(dir, locks); err != nil {
		return err
	}
	uv := []string{"python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--require-hashes", "--target", in("uv"), "--requirement", in("locks/uv.txt")}
	for _, command := range append([][]string{uv}, commands(in)...) {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command[0], err, out)
		}
	}
	return os.Rename(in(made), path)
}

func platform() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-manylinux_2_28"
	}
	return "x86_64-manylinux_2_28"
}
