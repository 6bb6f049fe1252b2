package convert_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/convert"
)

// source says where a manifest of testdata comes from: a file of a module at a version or a commit, either
// copied or rewritten field by field.
type source struct {
	File      string `json:"file"`
	Module    string `json:"module"`
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Rewritten string `json:"rewritten"`
}

// sourceVersions are the releases whose manifests are used.
var sourceVersions = map[string]string{
	"github.com/kubeflow/trainer/v2": "v2.3.0", "sigs.k8s.io/jobset": "v0.12.0", "sigs.k8s.io/kueue": "v0.19.2",
}

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// problem of a source whose file has the content data.
func (s source) problem(data []byte) error {
	release, known := sourceVersions[s.Module]
	sum := sha256.Sum256(data)
	switch {
	case !known:
		return fmt.Errorf("unknown module %q", s.Module)
	case s.Commit == "" && s.Version != release:
		return fmt.Errorf("version %q of %s: want %s or a commit", s.Version, s.Module, release)
	case s.Commit != "" && (s.Version != "" || !commit.MatchString(s.Commit)):
		return fmt.Errorf("commit %q and version %q: want a version, or a whole commit", s.Commit, s.Version)
	case s.Path == "" || path.Clean(s.Path) != s.Path || path.IsAbs(s.Path) || strings.HasPrefix(s.Path, ".."):
		return fmt.Errorf("path %q is none in a repository", s.Path)
	case (s.SHA256 == "") == (s.Rewritten == ""):
		return errors.New("want either the hash of a copy, or what is rewritten")
	case s.SHA256 != "" && s.SHA256 != hex.EncodeToString(sum[:]):
		return errors.New("the file is no longer the copy that it was")
	}
	return nil
}

// publicInputs are the manifests of the kinds whose inputs are all public.
func publicInputs(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"trainjob", "jobset", "job"} {
		for _, name := range []string{"*.in.yaml", "*.refused.yaml"} {
			paths, err := filepath.Glob(filepath.Join("testdata", dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, paths...)
		}
	}
	return all
}

// TestPublicManifestsHaveSources: every manifest of a TrainJob, JobSet or Job is a public one, and
// testdata/sources.yaml says which.
func TestPublicManifestsHaveSources(t *testing.T) {
	data, err := os.ReadFile("testdata/sources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources []source
	if err := yaml.UnmarshalStrict(data, &sources); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, s := range sources {
		data, err := os.ReadFile(filepath.Join("testdata", s.File))
		if err == nil {
			err = s.problem(data)
		}
		if err != nil || listed[s.File] {
			t.Errorf("%s, listed twice: %v, %v", s.File, listed[s.File], err)
		}
		listed[s.File] = true
	}
	inputs := publicInputs(t)
	for _, path := range inputs {
		if !listed[strings.TrimPrefix(path, "testdata/")] {
			t.Errorf("%s has no source in sources.yaml", path)
		}
	}
	if len(inputs) < 50 {
		t.Errorf("only %d manifests", len(inputs))
	}
}

// TestSourceProblems shows that TestPublicManifestsHaveSources can fail.
func TestSourceProblems(t *testing.T) {
	valid := source{Module: "sigs.k8s.io/jobset", Version: "v0.12.0", Path: "a/b.yaml", Rewritten: "all"}
	if err := valid.problem(nil); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(*source){
		"module":    func(s *source) { s.Module = "example.com/a" },
		"version":   func(s *source) { s.Version = "v0.11.0" },
		"both":      func(s *source) { s.Commit = strings.Repeat("a", 40) },
		"commit":    func(s *source) { s.Version, s.Commit = "", "main" },
		"no path":   func(s *source) { s.Path = "" },
		"a path up": func(s *source) { s.Path = "../b.yaml" },
		"neither":   func(s *source) { s.Rewritten = "" },
		"a changed": func(s *source) { s.Rewritten, s.SHA256 = "", strings.Repeat("0", 64) },
	}
	for name, change := range cases {
		s := valid
		if change(&s); s.problem([]byte("a")) == nil {
			t.Errorf("%s: %+v has no problem", name, s)
		}
	}
}

// TestRefusedManifests compares the errors of public manifests that cannot be converted with the files
// beside them, <case>.errors.txt. Nothing of such a file is printed.
func TestRefusedManifests(t *testing.T) {
	for _, path := range publicInputs(t) {
		base, refused := strings.CutSuffix(path, ".refused.yaml")
		if !refused {
			continue
		}
		t.Run(strings.TrimPrefix(base, "testdata/"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			docs, err := convert.Split(data)
			if err != nil {
				t.Fatal(err)
			}
			options := convert.Options{Runtimes: convert.FindRuntimes(docs)}
			var problems strings.Builder
			for _, doc := range docs {
				if _, err := convert.Convert(doc, options); err != nil {
					fmt.Fprintf(&problems, "%s: %v\n", doc, err)
				}
			}
			if problems.Len() == 0 {
				t.Fatal("it is converted")
			}
			golden(t, base+".errors.txt", problems.String())
		})
	}
}
