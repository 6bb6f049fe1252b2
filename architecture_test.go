// Package architecture checks which packages may import which, and the names and words in the repository.
package architecture

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "mlplatform.example.com/trainingjob-operator/"

// TestImportsRunOneWay holds every package to its rule, by exact package: what a rule allows of scheduler it
// does not allow of scheduler/volcano.
func TestImportsRunOneWay(t *testing.T) {
	seen := map[string]bool{}
	for _, pkg := range packages(t) {
		if len(pkg.GoFiles) == 0 {
			continue
		}
		path := strings.TrimPrefix(pkg.ImportPath, module)
		key, ok := ruleOf(path)
		if !ok {
			t.Errorf("%s has no rule: say here what it may import", path)
			continue
		}
		seen[key] = true
		for _, imp := range pkg.Imports {
			if why := rules[key].forbids(imp); why != "" {
				t.Errorf("%s imports %s, but it is %q: %s", path, imp, why, rules[key].reason)
			}
		}
	}
	for key := range rules {
		if !seen[key] {
			t.Errorf("rule %q holds no package: remove it", key)
		}
	}
}

// TestRulesForbid shows that the rules can fail.
func TestRulesForbid(t *testing.T) {
	for imp, in := range map[string]string{
		module + "scheduler/volcano": "pkg/controller",
		module + "lab/localcluster":  "cmd/operator",
		module + status:              decision,
		module + "pkg/controller":    core,
		"context":                    observation,
		"time":                       seam,
		"os/exec":                    checkpoint,
		"sigs.k8s.io/controller-runtime/pkg/client":     decision,
		"sigs.k8s.io/scheduler-plugins/pkg/apis":        "scheduler/coscheduling",
		"sigs.k8s.io/kueue/pkg/controller/jobframework": "scheduler/kueue",
		"k8s.io/client-go/rest":                         seam,
		"k8s.io/api/core/v1":                            "pkg/agent",
	} {
		if rules[in].forbids(imp) == "" {
			t.Errorf("%s may import %s", in, imp)
		}
	}
	if _, ok := ruleOf("pkg/somewhere"); ok {
		t.Error("an unknown package has a rule")
	}
}

func (r rule) forbids(imp string) string {
	if ours, is := strings.CutPrefix(imp, module); is {
		if !matches(ours, r.ours) {
			return "not among what it may import"
		}
		return ""
	}
	if matches(imp, r.never) {
		return "never to be imported here"
	}
	return ""
}

// ruleOf finds the most exact rule of a package.
func ruleOf(pkg string) (string, bool) {
	if _, ok := rules[pkg]; ok {
		return pkg, true
	}
	best := ""
	for key := range rules {
		if strings.HasSuffix(key, "/...") && matches(pkg, []string{key}) && len(key) > len(best) {
			best = key
		}
	}
	return best, best != ""
}

func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		root, below := strings.CutSuffix(pattern, "/...")
		return path == root || below && strings.HasPrefix(path, root+"/")
	})
}

// pure packages are given the time; they never ask for it.
var pure = []string{
	seam, "scheduler/volcano", "scheduler/native", "scheduler/kueue", "scheduler/coscheduling", checkpoint,
	frameworks, spec, validation, render, observation, decision, status, core, convert, tfjobadmin, history,
	contention, liveness, rehearsal, trace, "pkg/preemption", "pkg/reservation", fragment, palette, parameters,
	board + "/listview", board + "/clusterview", board + "/queueview", board + "/accountview",
	board + "/jobview", "pkg/cost",
	"bench/workload", "bench/simulated/scheduling",
}

// TestPurePackagesHaveNoClock: the same input gives the same answer, at any time.
func TestPurePackagesHaveNoClock(t *testing.T) {
	for _, dir := range pure {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range clockCalls(file) {
				t.Errorf("%s: time.%s, but %s is pure", fset.Position(call.Pos()), call.Sel.Name, dir)
			}
		}
	}
}

// clockCalls are the uses of the wall clock in a file.
func clockCalls(file *ast.File) []*ast.SelectorExpr {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	var calls []*ast.SelectorExpr
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clock, sel.Sel.Name) {
			if of, ok := sel.X.(*ast.Ident); ok && (of.Name == "time" || of.Name == "metav1") {
				calls = append(calls, sel)
			}
		}
		return true
	})
	return calls
}

// TestClockCallsAreFound shows that TestPurePackagesHaveNoClock can fail.
func TestClockCallsAreFound(t *testing.T) {
	const source = "package p\nvar a, b, c = time.Now(), metav1.Now(), s.Now.After(t)"
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(clockCalls(file)); n != 2 {
		t.Errorf("found %d uses of the clock, want 2", n)
	}
}

type goPackage struct {
	ImportPath       string
	GoFiles, Imports []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,GoFiles,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg goPackage
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, pkg)
	}
}
