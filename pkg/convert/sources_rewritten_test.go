package convert_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"
)

var wholeCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// TestRewrittenInputsHaveSources: testdata/sources_rewritten.yaml names the origin of inputs that exist, each
// once: a path in a module of a version, or in a repository at a commit.
func TestRewrittenInputsHaveSources(t *testing.T) {
	data, err := os.ReadFile("testdata/sources_rewritten.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources []struct{ File, Module, Version, Commit, Path string }
	if err := yaml.UnmarshalStrict(data, &sources); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range sources {
		if _, err := os.Stat(filepath.Join("testdata", s.File)); err != nil || seen[s.File] {
			t.Errorf("%s: %v, listed already: %t", s.File, err, seen[s.File])
		}
		seen[s.File] = true
		if s.Module == "" || s.Path == "" || (s.Version == "") != wholeCommit.MatchString(s.Commit) {
			t.Errorf("%+v: want a module, a path, and a version or a whole commit", s)
		}
	}
	if len(sources) < 25 {
		t.Errorf("only %d inputs", len(sources))
	}
	scripts, err := filepath.Glob("testdata/slurm/*.in.sh")
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, path := range scripts {
		if !seen["slurm/"+filepath.Base(path)] {
			own++
		}
	}
	if own > 3 {
		t.Errorf("%d scripts have no public source", own)
	}
}
