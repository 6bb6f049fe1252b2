package architecture

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// retired identifiers, and the word that the field has for each. One word has one meaning in the whole tree;
// the glossary is in ARCHITECTURE.md.
var retired = map[string]string{
	"ledger": "owned-object cache, job state", "holding": "owned object", "holdings": "owned objects",
	"stubborn": "mutatedByAdmission", "obstacle": "create backoff", "Obstacle": "create backoff",
	"refusal": "rejection", "Refusals": "rejections, unschedulable messages", "unspeakable": "unsupportedGang",
	"weigh": "consider", "hear": "parse", "heard": "reported, parsed", // quote
	"Consulting": "ClusterAware", "Consulted": "ClusterObjects", "consultations": "cluster objects",
	"clusterfacts": "clusterstate", "Facts": "ClusterState", "covers": "containsFields",
	"Desk": "none", "desk": "none", "mail": "none", "Habits": "Behavior", "habits": "Behavior",
	"Faculties": "Capabilities", "Faculty": "Support", "Life": "GangStatus", "finishcrd": "crd-postprocess",
}

// retiredTypes are words that say nothing as the name of a type: eight types were called world. A variable
// may still be the world size, say.
var retiredTypes = map[string]string{
	"world": "what it is: cluster, environment, fixture", "World": "what it is: cluster, environment, fixture",
	"Place": "Namespace, location", "place": "Namespace, location", "scene": "what it is: snapshot, fixture",
	"pass": "what it is: observation, plan",
}

// TestRetiredWords keeps words that newcomers stumbled over from coming back as identifiers or names of
// files.
func TestRetiredWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || path == "architecture_test.go":
			return nil
		}
		for _, word := range strings.FieldsFunc(strings.TrimSuffix(d.Name(), ".go"), notLetter) {
			if better := cmp.Or(retired[word], retiredTypes[word]); better != "" {
				t.Errorf("%s: the name of the file has %q: say %s", path, word, better)
			}
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		reported := map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if better := retired[n.Name]; better != "" && !reported[n.Name] {
					reported[n.Name] = true
					t.Errorf("%s: identifier %s: say %s", fset.Position(n.Pos()), n.Name, better)
				}
			case *ast.TypeSpec:
				if better := retiredTypes[n.Name.Name]; better != "" {
					t.Errorf("%s: type %s: say %s", fset.Position(n.Pos()), n.Name.Name, better)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
