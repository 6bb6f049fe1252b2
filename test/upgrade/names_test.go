package upgrade

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// knownNames are the files whose constants others know: what they mean, by file.
var knownNames = map[string]string{
	"api/v1alpha1/labels.go":     "label or annotation",
	"api/v1alpha1/conditions.go": "condition or reason",
	"api/v1alpha1/reasons.go":    "reason",
	"pkg/checkpoint/env.go":      "environment variable",
}

// readNames returns what each name of a tree means, by its text.
func readNames(t *testing.T, tree string) map[string]string {
	t.Helper()
	names := map[string]string{}
	for file, what := range knownNames {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(tree, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for _, value := range spec.Values {
					if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
						if text, err := strconv.Unquote(literal.Value); err == nil {
							names[text] = what
						}
					}
				}
			}
			return true
		})
	}
	if len(names) < 50 {
		t.Fatalf("only %d names were found", len(names))
	}
	return names
}
