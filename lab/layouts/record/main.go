// Command record lets the current releases of frameworks write checkpoints, traces in which order they write,
// and stores both as a corpus for lab/layouts. It needs Linux, root, Debian's mmdebstrap and strace.
//
// Each file of trees writes the saves of one framework. What lab/python/locks lists is installed.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mlplatform.example.com/trainingjob-operator/lab/debian"
	"mlplatform.example.com/trainingjob-operator/lab/python"
)

//go:embed trees/*.py
var programs embed.FS

// module is a file of trees, and the packages that it needs, by their locks.
type module struct {
	name  string
	locks []string
}

var modules = []module{
	{"torch", []string{"torch"}},
	{"huggingface", []string{"torch", "layouts"}},
	{"lightning", []string{"torch"}},
	{"deepspeed", []string{"torch"}},
	{"megatron", []string{"torch", "layouts"}},
	{"jax", []string{"jax"}},
	{"tensorflow", []string{"tensorflow"}},
	{"boosting", []string{"boosting"}},
}

func main() {
	root := flag.String("root", "", "folder to keep the frameworks in; default: they are removed")
	out := flag.String("out", "pkg/checkpoint/testdata/layouts", "folder of the corpus")
	only := flag.String("only", "", "the only module to record, for example torch; default: all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out, only string) (err error) {
	if root == "" {
		if root, err = os.MkdirTemp("", "layouts-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	isOther := func(m module) bool { return only != "" && m.name != only }
	chosen := slices.DeleteFunc(slices.Clone(modules), isOther)
	if len(chosen) == 0 {
		return fmt.Errorf("there is no module %s", only)
	}
	if err := install(ctx, root, chosen); err != nil {
		return err
	}
	for _, m := range chosen {
		if err := record(ctx, root, out, m); err != nil {
			return fmt.Errorf("recording %s: %w", m.name, err)
		}
	}
	return nil
}

// install unpacks a Debian and each lock's packages, at /opt/LOCK, where they are not there yet.
func install(ctx context.Context, root string, chosen []module) error {
	if _, err := os.Stat(filepath.Join(root, "usr")); errors.Is(err, os.ErrNotExist) {
		rootfs, err := debian.Python(ctx, python.Version("torch"))
		if err != nil {
			return err
		}
		if err := unpack(ctx, root, rootfs); err != nil {
			return err
		}
		if err := nameHost(root); err != nil {
			return err
		}
	}
	for _, m := range chosen {
		for _, lock := range m.locks {
			if _, err := os.Stat(filepath.Join(root, "opt", lock)); err == nil {
				continue
			}
			layer, err := python.Layer(ctx, lock)
			if err != nil {
				return err
			}
			from := strings.TrimPrefix(python.Path, "/")
			if err := unpack(ctx, root, layer, "--transform", "s,^./"+from+",opt/"+lock+","); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameHost lets the ranks find their own host by its name.
func nameHost(root string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1 localhost "+host+"\n"), 0o644)
}

func unpack(ctx context.Context, root, tar string, args ...string) error {
	args = append([]string{"--extract", "--file", tar, "--directory", root}, args...)
	if out, err := exec.CommandContext(ctx, "tar", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("unpacking %s: %w\n%s", tar, err, out)
	}
	return nil
}

// record runs a module's trees in the root filesystem and writes its part of the corpus.
func record(ctx context.Context, root, out string, m module) (err error) {
	const at = "/layouts"
	work := filepath.Join(root, at)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	if err := os.CopyFS(work, programs); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	path := make([]string, 0, len(m.locks))
	for _, lock := range m.locks {
		path = append(path, "/opt/"+lock)
	}
	log := filepath.Join(work, "trace")
	cmd := exec.CommandContext(ctx, "strace", "-f", "-y", "-qq", "-s", "4096", "--seccomp-bpf",
		"-e", "signal=none", "-e", "trace="+traced, "-o", log,
		"unshare", "--mount-proc="+filepath.Join(root, "proc"), "chroot", root,
		"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp", "OMP_NUM_THREADS=1",
		"PYTHONPATH="+strings.Join(path, ":"), "PYTHONDONTWRITEBYTECODE=1",
		"python3", at+"/trees/run.py", m.name+"_saves", at+"/work")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the programs in trees: %w", err)
	}
	in, err := os.Open(log)
	if err != nil {
		return err
	}
	defer in.Close()
	trees, err := assemble(in, root, at+"/work")
	if err != nil {
		return err
	}
	if err := write(out, m.name, filepath.Join(work, "work"), trees); err != nil {
		return err
	}
	return verify(out, filepath.Join(work, "work"))
}
