package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// binary of a program for a platform.
type binary struct {
	program  program
	platform platform
	content  []byte
	info     *debug.BuildInfo
}

// name of the file, as its platform wants it.
func (b binary) name() string { return binaryName(b.program, b.platform) }

func binaryName(p program, on platform) string {
	if on.os == "windows" {
		return p.binary() + ".exe"
	}
	return p.binary()
}

// build the programs for a platform from the module in root, below the folder dir, which is not left in what
// is built.
func build(
	ctx context.Context, root, dir, version string, on platform, programs ...program,
) ([]binary, error) {
	dir = filepath.Join(dir, on.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// Neither the machine's paths (-trimpath) nor its repository (-buildvcs) get in: the version is ours.
	args := []string{
		"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + version, "-o",
		dir + string(filepath.Separator),
	}
	for _, p := range programs {
		args = append(args, "./"+p.pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), buildEnvironment(on)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", on, err, strings.TrimSpace(string(out)))
	}
	var binaries []binary
	for _, p := range programs {
		path := filepath.Join(dir, binaryName(p, on))
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading what was built: %w", err)
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading what was built: %w", err)
		}
		binaries = append(binaries, binary{p, on, content, info})
	}
	return binaries, nil
}

// buildEnvironment overrides whatever of the user's settings changes a build.
func buildEnvironment(on platform) []string {
	return []string{
		"GOOS=" + on.os, "GOARCH=" + on.arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	}
}
