package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repositoryOf one commit at a known time.
func repositoryOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "First"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0200",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func epoch(seconds string) func(string) string {
	return func(name string) string {
		if name == "SOURCE_DATE_EPOCH" {
			return seconds
		}
		return ""
	}
}

// TestSource: the time is the commit's or SOURCE_DATE_EPOCH; uncommitted changes are reported.
func TestSource(t *testing.T) {
	dir := repositoryOf(t)
	clean, err := readSource(t.Context(), dir, epoch(""))
	if err != nil {
		t.Fatal(err)
	}
	if len(clean.revision) != 40 || clean.dirty() || clean.time != time.Unix(1700000000, 0).UTC() {
		t.Errorf("source %+v of a clean repository", clean)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), []byte("package p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := readSource(t.Context(), dir, epoch("42"))
	if err != nil {
		t.Fatal(err)
	}
	if changed.revision != clean.revision+"-dirty" || !changed.dirty() || changed.time.Unix() != 42 {
		t.Errorf("source %+v of a repository with a new file, with SOURCE_DATE_EPOCH=42", changed)
	}
}

// TestSourceWithoutRepository: a tree without git has no revision, and needs a time.
func TestSourceWithoutRepository(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	dir := t.TempDir()
	s, err := readSource(t.Context(), dir, epoch("42"))
	if err != nil || s.revision != "" || s.dirty() || s.time.Unix() != 42 {
		t.Errorf("source %+v, %v", s, err)
	}
	for _, seconds := range []string{"", "yesterday", "-1"} {
		_, err := readSource(t.Context(), dir, epoch(seconds))
		if err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
			t.Errorf("SOURCE_DATE_EPOCH=%q: error %v", seconds, err)
		}
	}
}
