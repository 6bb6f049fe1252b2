package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTroubleshootingKnowsEveryReason: each reason for which a job waits, and each of a condition that says
// what is wrong with its checkpoints, is on the page.
func TestTroubleshootingKnowsEveryReason(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	// These say that all is well again, or are the ordinary course of a restart.
	well := []string{"CheckpointKnown", "StepsContinued", "StepsRepeated", "ReportsOff", "ReportsOn"}
	found := 0
	for _, reason := range reasonsOf(t, "api/v1alpha1/conditions.go", "Reasons of blockers",
		"Reasons of the conditions") {
		found++
		if !strings.Contains(string(page), reason) && !strings.Contains(strings.Join(well, " "), reason) {
			t.Errorf("docs/troubleshooting.md says nothing of %s", reason)
		}
	}
	for _, reason := range []string{
		"ResourceFlavorMissing", "PlacementConflict", "WorkloadFinished", "WorkloadGone", "Deactivated",
		"PrebuiltWorkloadNotFound", "PrebuiltWorkloadTaken", "OutOfSync", "NodeLost", "InvalidSpec",
	} {
		if !strings.Contains(string(page), reason) {
			t.Errorf("docs/troubleshooting.md says nothing of %s", reason)
		}
	}
	if found < 30 {
		t.Errorf("only %d reasons were found", found)
	}
}

// reasonsOf the blocks of constants whose comments begin with some words.
func reasonsOf(t *testing.T, path string, words ...string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		for _, w := range words {
			if !strings.HasPrefix(block.Doc.Text(), w) {
				continue
			}
			for _, s := range block.Specs {
				value, err := strconv.Unquote(s.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
		}
	}
	return values
}
