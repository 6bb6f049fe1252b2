package rest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// TestPage: docs/server.md has every path and every type of problem, and no other path.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, typ := range problem.Types() {
		_, name, _ := strings.Cut(typ.URI, "problem:")
		if row := fmt.Sprintf("| `%s` | %d | %s |\n", name, typ.Status, typ.Means); !strings.Contains(page, row) {
			t.Errorf("it lacks the row\n%s", row)
		}
	}
	raw, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for path, methods := range document.Paths {
		for method := range methods {
			below, is := strings.CutPrefix(path, inCluster)
			if !is {
				continue // the list of the clusters
			}
			rows++
			if row := fmt.Sprintf("| %s | `%s` |", strings.ToUpper(method), below); !strings.Contains(page, row) {
				t.Errorf("it lacks %s", row)
			}
		}
	}
	reported := 0
	for _, method := range []string{"GET", "POST", "PATCH", "DELETE"} {
		reported += strings.Count(page, "\n| "+method+" | ")
	}
	if reported != rows {
		t.Errorf("it has %d paths, and there are %d", reported, rows)
	}
}
