//go:build e2e

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/localcluster"
)

const (
	trainerImage = "registry.example.com/trainer:1"
	agentImage   = "registry.example.com/agent:1"
)

// packages of the trainer's image. Debian's PyTorch has gloo, and no torch.distributed.checkpoint.
func packages() []string { return []string{"python3-torch"} }

// images are built into dir: the trainer's from Debian's packages, the agent's from this repository.
func images(ctx context.Context, dir, agent string) ([]string, error) {
	layer, err := rootFilesystem(ctx)
	if err != nil {
		return nil, err
	}
	trainer, agentTar := filepath.Join(dir, "trainer.tar"), filepath.Join(dir, "agent.tar")
	err = localcluster.Image{
		Name: trainerImage, Layers: []string{layer}, Files: map[string]string{"/opt/train.py": "../../examples/pytorch/train.py"},
		Entrypoint: []string{"/usr/bin/python3"}, Env: []string{"PYTHONUNBUFFERED=1", "OMP_NUM_THREADS=1"},
	}.Write(trainer)
	if err != nil {
		return nil, err
	}
	err = localcluster.Image{Name: agentImage, Files: map[string]string{"/agent": agent}, Entrypoint: []string{"/agent"}}.Write(agentTar)
	return []string{trainer, agentTar}, err
}

// rootFilesystem is a tar of a Debian with the packages, kept between runs: it takes minutes to make.
func rootFilesystem(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(strings.Join(packages(), " ")))
	path := filepath.Join(cache, "trainingjob-operator", "rootfs-"+hex.EncodeToString(key[:])[:12]+".tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	draft := fmt.Sprintf("%s.%d.tar", strings.TrimSuffix(path, ".tar"), os.Getpid())
	defer os.Remove(draft)
	cmd := exec.CommandContext(ctx, "mmdebstrap", "--variant=essential", "--include="+strings.Join(packages(), ","),
		"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		"bookworm", draft)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("making the trainer's root filesystem (mmdebstrap): %w", err)
	}
	return path, os.Rename(draft, path)
}
