package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// source is what a release is made from.
type source struct {
	// revision is the commit, with -dirty where the working tree differs from it; empty: unknown.
	revision string
	// time of everything that is made.
	time time.Time
}

const dirtySuffix = "-dirty"

// readSource asks git, and the environment's SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/), which goes before the commit's time.
func readSource(ctx context.Context, root string, getenv func(string) string) (source, error) {
	var s source
	commit, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	seconds := ""
	if err == nil {
		s.revision, seconds, _ = strings.Cut(commit, " ")
		changes, err := git(ctx, root, "status", "--porcelain")
		if err != nil {
			return source{}, err
		}
		if changes != "" {
			s.revision += dirtySuffix
		}
	}
	if epoch := getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	if seconds == "" {
		return source{}, fmt.Errorf("no time for what is made: outside of a git repository set "+
			"SOURCE_DATE_EPOCH, in seconds since 1970 (%w)", err)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return source{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: set seconds since 1970, or unset it", seconds)
	}
	s.time = time.Unix(n, 0).UTC()
	return s, nil
}

func (s source) dirty() bool { return strings.HasSuffix(s.revision, dirtySuffix) }

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
