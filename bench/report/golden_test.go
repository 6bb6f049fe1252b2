package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md.golden", b.String())
	checkTables(t, b.String())
}

// checkTables holds every row of a Markdown table to as many cells as its head has, and all of them to text.
func checkTables(t *testing.T, markdown string) {
	t.Helper()
	cells := 0
	for i, line := range strings.Split(markdown, "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells == 0 {
			cells = n
		}
		if n != cells || strings.Contains(line, "|  |") || strings.Contains(line, "NaN") {
			t.Errorf("line %d has %d cells, want %d, none of them empty: %s", i+1, n-1, cells-1, line)
		}
	}
}

// TestMarkdownOfTen looks at the form of a report that is too long for a golden file.
func TestMarkdownOfTen(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, syntheticResults()); err != nil {
		t.Fatal(err)
	}
	checkTables(t, b.String())
}

func TestMarkdownOfNothing(t *testing.T) {
	r := fixture()
	r.Runs = nil
	for name, results := range map[string]result.Results{"no runs": r, "nothing": {Version: result.Version}} {
		var b bytes.Buffer
		if err := Markdown(&b, results); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "plots/") {
			t.Errorf("%s: there is a plot of nothing", name)
		}
		checkTables(t, b.String())
	}
}

func TestSummary(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.txt", b.String())
	if err := Summary(&b, syntheticResults()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > terminalColumns {
			t.Errorf("%d columns, want at most %d: %s", n, terminalColumns, line)
		}
	}
}

func TestHeadline(t *testing.T) {
	got, err := Headline(fixture())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "headline.md.golden", got)
	checkTables(t, got)
	r := fixture()
	r.Workloads, r.Runs = r.Workloads[1:], nil
	if got, err := Headline(r); err != nil || got != "" {
		t.Errorf("without a burst the headline is %q, %v", got, err)
	}
}
