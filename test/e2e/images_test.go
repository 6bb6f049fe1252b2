//go:build e2e

package e2e

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

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const (
	pytorchImage = "registry.example.com/pytorch:1"
	goImage      = "registry.example.com/gotrainer:1"
	busyboxImage = "registry.example.com/busybox:1"
	mpiImage     = "registry.example.com/mpi:1"
	agentImage   = "registry.example.com/agent:1"
)

// debian are the arguments of mmdebstrap for the image with PyTorch and XGBoost. Debian's PyTorch has gloo
// and no torch.distributed.checkpoint. Documentation, headers, torch's tests, python3-sympy and the graphics
// drivers that OpenCV depends on are left out: no training needs them, and they would make the image half as
// large again.
func debian() []string {
	args := []string{"--variant=essential", "--include=python3-torch,python3-xgboost"}
	for _, path := range []string{
		"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/icons/*", "/usr/include/*",
		"/usr/lib/python3/dist-packages/torch/bin/test_*",
		"/usr/lib/*/dri/*", "/usr/lib/*/libLLVM*", "/usr/lib/*/libz3*", "/usr/lib/*/mfx/*", "/usr/lib/*/libmfxhw*",
	} {
		args = append(args, "--dpkgopt=path-exclude="+path)
	}
	// Not by path-exclude: the package's installation compiles its files.
	return append(args, `--customize-hook=rm -r "$1"/usr/lib/python3/dist-packages/sympy`, "bookworm")
}

// mpiUser is the user of MPI's image that is not root.
const mpiUser = 1000

// debianMPI are the arguments of mmdebstrap for MPI's image: both implementations and OpenSSH, none of them
// configured, and a user.
func debianMPI() []string {
	args := []string{"--variant=essential", "--include=openssh-server,openssh-client,openmpi-bin,mpich,python3"}
	for _, dir := range []string{"/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/include"} {
		args = append(args, "--dpkgopt=path-exclude="+dir+"/*")
	}
	user := fmt.Sprintf("mpiuser:x:%d:%d::/tmp:/bin/sh", mpiUser, mpiUser)
	return append(args, `--customize-hook=echo `+user+` >> "$1"/etc/passwd`, "bookworm")
}

// images builds the images in dir, next to this repository's programs, and returns their archives.
func images(ctx context.Context, dir string) ([]string, error) {
	rootfs, err := rootFilesystem(ctx, "PyTorch", debian())
	if err != nil {
		return nil, err
	}
	mpi, err := rootFilesystem(ctx, "MPI", debianMPI())
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, image := range []localcluster.Image{
		{
			Name: pytorchImage, Layers: []string{rootfs},
			Files: map[string]string{
				"/opt/train.py": "../../examples/pytorch/train.py", "/opt/mesh.py": "ranks/mesh.py",
				"/opt/xgboost_ranks.py": "ranks/xgboost_ranks.py", "/opt/elastic.py": "ranks/elastic.py",
			},
			Entrypoint: []string{"/usr/bin/python3"}, Env: []string{"OMP_NUM_THREADS=1"},
		},
		{Name: mpiImage, Layers: []string{mpi},
			Files: map[string]string{
				"/opt/mpi.py": "ranks/mpi.py", "/opt/allreduce.py": "ranks/allreduce.py",
				"/opt/mpi_steps.py": "ranks/mpi_steps.py",
			}},
		{Name: goImage, Files: map[string]string{"/gotrainer": filepath.Join(dir, "gotrainer")},
			Entrypoint: []string{"/gotrainer"}},
		{Name: busyboxImage, Files: map[string]string{"/busybox": "/bin/busybox"},
			Entrypoint: []string{"/busybox"}},
		{Name: agentImage, Files: map[string]string{"/agent": filepath.Join(dir, "agent")},
			Entrypoint: []string{"/agent"}},
	} {
		name, _, _ := strings.Cut(filepath.Base(image.Name), ":")
		archive := filepath.Join(dir, name+".tar")
		if err := image.Write(archive); err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
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
