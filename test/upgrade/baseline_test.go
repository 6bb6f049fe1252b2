package upgrade

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// root of this tree's module.
const root = "../.."

// baseline is the folder with the tree of the commit in the file from.
func baseline(t *testing.T) string {
	t.Helper()
	dir, err := extractBaseline()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var extractBaseline = sync.OnceValues(func() (string, error) {
	commit, err := baselineCommit()
	if err != nil {
		return "", err
	}
	if err := hasCommit(root, commit); err != nil {
		return "", err
	}
	archive, err := git(root, "archive", "--format=tar", commit)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(workDir, "baseline")
	return dir, untar(archive, dir)
})

var fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)

func baselineCommit() (string, error) {
	content, err := os.ReadFile("from")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(content))
	if !fullHash.MatchString(commit) {
		return "", fmt.Errorf("test/upgrade/from says %q: write the 40 digits of a commit", commit)
	}
	return commit, nil
}

// hasCommit says what to do about a clone that lacks a commit.
func hasCommit(repository, commit string) error {
	shallow, err := git(repository, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return fmt.Errorf("this test needs a clone, for the tree of commit %s: %w", commit, err)
	}
	if _, err := git(repository, "cat-file", "-e", commit+"^{commit}"); err == nil {
		return nil
	}
	if strings.TrimSpace(string(shallow)) == "true" {
		return fmt.Errorf("commit %s of test/upgrade/from is not in this shallow clone: "+
			"git fetch --unshallow (in a workflow: fetch-depth: 0)", commit)
	}
	return fmt.Errorf("commit %s of test/upgrade/from is not in this clone: git fetch it, or name one that is",
		commit)
}

func git(repository string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-C", repository}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// untar writes the folders, files and links of an archive into a folder.
func untar(archive []byte, dir string) error {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		path, mode := filepath.Join(dir, header.Name), fs.FileMode(header.Mode).Perm()
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(header.Linkname, path)
		case tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, mode)
			}
		}
		if err != nil {
			return fmt.Errorf("extracting %s: %w", header.Name, err)
		}
	}
}

// A clone without the commit says what to do about it.
func TestCloneWithoutTheCommit(t *testing.T) {
	commit := strings.Repeat("0", 40)
	origin, shallow := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	run := func(dir string, args ...string) {
		t.Helper()
		if _, err := git(dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(origin, "init", "--quiet")
	for range 2 {
		run(origin, "-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "--quiet", "--allow-empty",
			"-m", "empty")
	}
	run(origin, "clone", "--quiet", "--depth=1", "file://"+origin, shallow)
	for repository, want := range map[string]string{
		t.TempDir(): "needs a clone", origin: "git fetch it", shallow: "git fetch --unshallow",
	} {
		if err := hasCommit(repository, commit); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", repository, err, want)
		}
	}
}
