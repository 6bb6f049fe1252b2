package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const root = "../.."

// TestEveryTestIsRun: each test that needs a cluster is run whole by make test-all, or left out for a reason.
// Each package that tiers.yaml names has such tests.
func TestEveryTestIsRun(t *testing.T) {
	tiers, err := ReadTiers(filepath.Join(root, "test/tiers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tests := taggedTests(t)
	for _, test := range tests {
		isRun := slices.ContainsFunc(tiers.runs(), func(r Run) bool {
			return r.RunsAll(test.pkg, test.tag, test.name)
		})
		isLeftOut := slices.ContainsFunc(tiers.LeftOut, func(l LeftOut) bool {
			return l.Package == test.pkg && (l.Test == "" || l.Test == test.name)
		})
		switch {
		case isRun && isLeftOut:
			t.Errorf("%s %s is run, and left out: see test/tiers.yaml", test.pkg, test.name)
		case !isRun && !isLeftOut:
			t.Errorf("%s %s is not run: add it to a part in test/tiers.yaml", test.pkg, test.name)
		}
	}
	for _, run := range tiers.runs() {
		for _, pkg := range run.Packages {
			if !slices.ContainsFunc(tests, func(test taggedTest) bool {
				return test.pkg == pkg && test.tag == run.tag()
			}) {
				t.Errorf("test/tiers.yaml: %s has no test with the build tag %s", pkg, run.tag())
			}
		}
	}
	for _, l := range tiers.LeftOut {
		if !slices.ContainsFunc(tests, func(test taggedTest) bool {
			return test.pkg == l.Package && (l.Test == "" || test.name == l.Test)
		}) {
			t.Errorf("test/tiers.yaml: leftOut: there is no test %s %s", l.Package, l.Test)
		}
	}
}

func TestTiersAreChecked(t *testing.T) {
	part := Part{Name: "a", Took: metav1.Duration{Duration: 1}, Paths: []string{"api/"}}
	run := func(r Run) Tiers { return Tiers{Test: Tier{Runs: []Run{r}}} }
	for name, tc := range map[string]struct {
		tiers Tiers
		valid bool
	}{
		"args of one package":   {run(Run{Packages: []string{"./a"}, Args: []string{"-x"}}), true},
		"args of two packages":  {run(Run{Packages: []string{"./a", "./b"}, Args: []string{"-x"}}), false},
		"no packages":           {run(Run{}), false},
		"no regular expression": {run(Run{Packages: []string{"./a"}, Skip: "("}), false},
		"a part":                {Tiers{Parts: []Part{part}}, true},
		"two parts of a name":   {Tiers{Parts: []Part{part, part}}, false},
		"a part without paths":  {Tiers{Parts: []Part{{Name: "a", Took: part.Took}}}, false},
	} {
		if err := tc.tiers.check(); (err == nil) != tc.valid {
			t.Errorf("%s: valid %t, got %v", name, tc.valid, err)
		}
	}
}

// TestPathsExist: a part whose paths are out of date would not run when it should.
func TestPathsExist(t *testing.T) {
	tiers, err := ReadTiers(filepath.Join(root, "test/tiers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tiers.Parts {
		for _, path := range p.Paths {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("part %s: %v", p.Name, err)
			}
		}
	}
}

type taggedTest struct{ pkg, tag, name string }

// taggedTests are the top-level tests of files with the build tag cluster or e2e. Those with the tag long are
// for targets of their own.
func taggedTests(t *testing.T) (tests []taggedTest) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		tag := tagOf(file)
		if tag == "" {
			return nil
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				tests = append(tests, taggedTest{"./" + filepath.ToSlash(pkg), tag, f.Name.Name})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) < 50 {
		t.Fatalf("only %d tests have the tags: the search is broken", len(tests))
	}
	return tests
}

// tagOf a file is the tag, cluster or e2e, with which alone it is compiled; "" if there is none.
func tagOf(file *ast.File) string {
	for _, group := range file.Comments {
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue
			}
			for _, tag := range []string{tagCluster, "e2e"} {
				with := expr.Eval(func(t string) bool { return t == tag })
				if with && !expr.Eval(func(string) bool { return false }) {
					return tag
				}
			}
		}
	}
	return ""
}
