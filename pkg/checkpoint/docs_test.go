package checkpoint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "../../docs/checkpoints.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page's table of layouts is rendered from LayoutRules, and every rule has a tree in the corpus.
func TestLayoutsAreDocumented(t *testing.T) {
	const begin, end = "TestLayoutsAreDocumented -update -->\n", "<!-- end of layouts -->\n"
	text := readPage(t)
	head, rest, ok := strings.Cut(text, begin)
	_, foot, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has lost the markers of its table")
	}
	var b strings.Builder
	b.WriteString("| Layout | Looks like | Complete when | Step | Agent may delete |\n")
	b.WriteString("| --- | --- | --- | --- | --- |\n")
	for _, r := range LayoutRules {
		deletes := "no"
		if r.Removable {
			deletes = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Layout, r.LooksLike, r.CompleteWhen, r.StepFrom, deletes)
	}
	want := head + begin + b.String() + end + foot
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, want); diff != "" {
		t.Errorf("the page has another table; run with -update (-page +code):\n%s", diff)
	}
	covered := map[Layout]bool{LayoutManifest: true} // of no framework
	for name, j := range judgements {
		covered[j.layout] = true
		hasRule := slices.ContainsFunc(LayoutRules, func(r LayoutRule) bool { return r.Layout == j.layout })
		if j.layout != "" && !hasRule {
			t.Errorf("%s has the layout %s, which has no rule", name, j.layout)
		}
	}
	for _, r := range LayoutRules {
		if !covered[r.Layout] {
			t.Errorf("%s has a rule and no tree in the corpus", r.Layout)
		}
	}
}

// Every variable that a trainer sees is on the page.
func TestEnvironmentIsDocumented(t *testing.T) {
	text := readPage(t)
	file, err := parser.ParseFile(token.NewFileSet(), "env.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	group := file.Decls[0].(*ast.GenDecl) // the first group is the trainer's, the second the agent's
	for _, spec := range group.Specs {
		value := spec.(*ast.ValueSpec)
		name, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if seen++; !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("%s is not in the page's table", name)
		}
	}
	if seen < 8 {
		t.Errorf("only %d variables were looked at", seen)
	}
}

// Every JSON example on the page parses.
func TestExamplesOfThePageAreRight(t *testing.T) {
	text, n := readPage(t), 0
	for _, part := range strings.Split(text, "```json\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		_, statusErr := ParseStatus([]byte(example))
		_, commandErr := ParseCommand([]byte(example))
		_, settingsErr := ParseSettings([]byte(example))
		if n++; statusErr != nil && commandErr != nil && settingsErr != nil {
			t.Errorf("%s\nis no status (%v), no command (%v) and no settings (%v)", example, statusErr, commandErr,
				settingsErr)
		}
	}
	if n != 3 {
		t.Errorf("%d examples were found", n)
	}
}
