package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// threat is a row of testdata/threats.yaml: what an attacker could try, and what shows that it fails.
type threat struct {
	Row  string `json:"row"`
	What string `json:"what"`
	// Tests that play what no TrainingJob can show, as folder: function. Without any, cases must name the row.
	Tests []struct{ Folder, Function string } `json:"tests"`
}

func (b *bench) expectThreats(t *testing.T) {
	t.Helper()
	var threats []threat
	readYAML(t, "testdata/threats.yaml", &threats)
	known := map[string]bool{}
	for _, row := range threats {
		known[row.Row] = true
		if len(row.Tests) == 0 && !b.rows[row.Row] {
			t.Errorf("no case is about %s: %s", row.Row, row.What)
		}
		for _, test := range row.Tests {
			if !slices.Contains(functions(t, test.Folder), test.Function) {
				t.Errorf("%s: %s has no %s", row.Row, test.Folder, test.Function)
			}
		}
	}
	for row := range b.rows {
		if !known[row] {
			t.Errorf("testdata/threats.yaml has no row %s", row)
		}
	}
}

// functions of the test files in a folder.
func functions(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
