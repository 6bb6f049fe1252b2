package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryReasonIsKnown reads the constants from the sources.
func TestEveryReasonIsKnown(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") || len(spec.Values) == 0 {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			found++
			if value, err := strconv.Unquote(literal.Value); err != nil || !KnownReason(value) {
				t.Errorf("%s is not among the reasons that are known: add it", spec.Names[0].Name)
			}
			return true
		})
	}
	if found < 50 || found != len(reasons) {
		t.Errorf("%d constants and %d known reasons", found, len(reasons))
	}
	if KnownReason("OnceUponATime") {
		t.Error("anything is known")
	}
}
