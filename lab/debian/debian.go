// Package debian makes root filesystems from Debian's packages, as layers of images whose programs are not
// ours. They are kept between runs, because each takes minutes to make, in the folder of the cluster's
// programs.
package debian

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PyTorch returns the path of a tar of a Debian 13 with its PyTorch 2.6, which has gloo, and its XGBoost. It
// needs mmdebstrap, and root.
func PyTorch(ctx context.Context) (string, error) {
	return rootFilesystem(ctx, "PyTorch", pytorch())
}

// Python returns the path of a tar of a Debian with Python 3.13 or 3.11, for the packages of lab/python. It
// has g++ and Python's headers for those that compile a part of themselves. It needs mmdebstrap, and root.
func Python(ctx context.Context, version string) (string, error) {
	release := "trixie"
	if version == "3.11" {
		release = "bookworm"
	}
	return rootFilesystem(ctx, "Python "+version, append(small("g++,python3-dev"), release))
}

// MPIUser is the user of MPI's filesystem that is not root.
const MPIUser = 1000

// MPI returns the path of a tar of a Debian with Open MPI, MPICH and OpenSSH, none of them configured, and
// with MPIUser. It needs mmdebstrap, and root.
func MPI(ctx context.Context) (string, error) {
	return rootFilesystem(ctx, "MPI", mpi())
}

// pytorch are arguments of mmdebstrap. Documentation, headers, torch's tests and the graphics drivers that
// OpenCV depends on are left out: no training needs them, and they would make the image half as large again.
func pytorch() []string {
	args := small("python3-torch,python3-xgboost", "/usr/include/*", "/usr/share/icons/*",
		"/usr/lib/python3/dist-packages/torch/bin/test_*",
		"/usr/lib/*/dri/*", "/usr/lib/*/libLLVM*", "/usr/lib/*/mfx/*", "/usr/lib/*/libmfxhw*")
	// Debian builds it without libuv, which its own rendezvous ask for. A torchrun of 2.3 to 2.7 that SIGTERM
	// ends closes the rendezvous for all others; 2.8 does not (pytorch/pytorch#152525).
	const mended = `cd "$1"/usr/lib/python3/dist-packages/torch/distributed && ` +
		`sed -i 's/"USE_LIBUV", "1"/"USE_LIBUV", "0"/' rendezvous.py && ` +
		`sed -i 's/multi_tenant=True,/multi_tenant=True, use_libuv=False,/' ` +
		`elastic/rendezvous/c10d_rendezvous_backend.py elastic/rendezvous/static_tcp_rendezvous.py ` +
		`elastic/rendezvous/dynamic_rendezvous.py && ` +
		`sed -i '/if not is_restart and self._rdzv_handler:/,+1d' elastic/agent/server/local_elastic_agent.py`
	return append(args, "--customize-hook="+mended, "trixie")
}

func mpi() []string {
	args := small("openssh-server,openssh-client,openmpi-bin,mpich,python3", "/usr/include/*")
	user := fmt.Sprintf("mpiuser:x:%d:%d::/tmp:/bin/sh", MPIUser, MPIUser)
	return append(args, `--customize-hook=echo `+user+` >> "$1"/etc/passwd`, "bookworm")
}

// small are arguments for packages without their documentation, and without these paths.
func small(packages string, without ...string) []string {
	args := []string{"--variant=essential", "--include=" + packages}
	everywhere := []string{"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"}
	for _, path := range append(everywhere, without...) {
		args = append(args, "--dpkgopt=path-exclude="+path)
	}
	return args
}

// rootFilesystem returns a tar of a Debian, by the arguments of mmdebstrap. It is kept between runs, because
// it takes minutes to build.
func rootFilesystem(ctx context.Context, what string, args []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(strings.Join(args, " ")))
	path := filepath.Join(cache, "trainingjob-operator", "rootfs-"+hex.EncodeToString(key[:])[:12]+".tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	draft := fmt.Sprintf("%s.%d.tar", strings.TrimSuffix(path, ".tar"), os.Getpid())
	defer os.Remove(draft)
	fmt.Fprintln(os.Stderr, "making the root filesystem of "+what+" from Debian's packages, once: some minutes")
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, draft)...)
	// It starts a Python for each of hundreds of packages: Debian's, and no version manager's.
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out := &phases{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("making the root filesystem of %s (mmdebstrap): %w\n%s", what, err, out.all.String())
	}
	return path, os.Rename(draft, path)
}

// phases prints mmdebstrap's own messages and keeps the thousands of lines of apt and dpkg for a failure.
type phases struct{ all, line bytes.Buffer }

func (p *phases) Write(data []byte) (int, error) {
	p.all.Write(data)
	for _, b := range data {
		p.line.WriteByte(b)
		if b != '\n' {
			continue
		}
		if bytes.HasPrefix(p.line.Bytes(), []byte("I: ")) {
			_, _ = os.Stderr.Write(p.line.Bytes())
		}
		p.line.Reset()
	}
	return len(data), nil
}
