package conformance

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
)

// CI never passes it: there the files are compared.
var update = flag.Bool("update", false,
	"write docs/schedulers.md and testdata/scenarios-*.txt instead of comparing them")

const (
	documentPath = "../../docs/schedulers.md"
	templatePath = documentPath + ".tmpl"
)

// document is what docs/schedulers.md.tmpl is filled with.
type document struct {
	schedulers []CataloguedScheduler
	footnotes  []string
}

// TestSchedulersAreDocumented compares the document with the capabilities of each scheduler and with the
// committed lists of played scenarios.
func TestSchedulersAreDocumented(t *testing.T) {
	want, err := renderDocument()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(documentPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/schedulers.md is out of date: go test ./test/conformance -run Documented -update "+
			"(-want +got):\n%s", diff)
	}
}

func renderDocument() ([]byte, error) {
	d := &document{}
	for _, s := range Catalogue().Schedulers {
		if s.Title != "" {
			d.schedulers = append(d.schedulers, s)
		}
	}
	text, err := template.New(filepath.Base(templatePath)).Option("missingkey=error").Funcs(template.FuncMap{
		"capabilities": d.capabilityTable, "footnotes": d.footnoteList, "scenarios": d.scenarioTable,
	}).ParseFiles(templatePath)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = text.Execute(&b, nil)
	return b.Bytes(), err
}

// capabilityTable has a yes or no with a footnote in each cell.
func (d *document) capabilityTable() string {
	rows := [][]string{{"The scheduler ..."}}
	for _, s := range d.schedulers {
		rows[0] = append(rows[0], s.Title)
	}
	for _, c := range Catalogue().Capabilities {
		row := []string{c.Label}
		for _, s := range d.schedulers {
			row = append(row, d.cell(s.Supports[c.ID]))
		}
		rows = append(rows, row)
	}
	return table(rows)
}

func (d *document) cell(s Support) string {
	note := s.Reason
	if s.Details {
		note += " See [priority order](#priority-order-on-native-and-coscheduling)."
	}
	n := slices.Index(d.footnotes, note) + 1
	if n == 0 {
		d.footnotes = append(d.footnotes, note)
		n = len(d.footnotes)
	}
	return fmt.Sprintf("%s[^%d]", map[bool]string{true: "yes", false: "no"}[s.Supported], n)
}

// footnoteList has the reasons of the cells; equal ones share a footnote.
func (d *document) footnoteList() string {
	lines := make([]string, 0, len(d.footnotes))
	for i, note := range d.footnotes {
		lines = append(lines, fmt.Sprintf("[^%d]: %s", i+1, note))
	}
	return strings.Join(lines, "\n")
}

// scenarioTable shows by the committed lists which scenarios each scheduler plays. Scenarios with equal
// outcomes share a row.
func (d *document) scenarioTable() (string, error) {
	header := []string{"Scenarios"}
	cells := map[string][]string{}
	for i, s := range d.schedulers {
		header = append(header, s.Name)
		list, err := ReadMap("testdata/scenarios-" + s.Name + ".txt")
		if err != nil {
			return "", err
		}
		for name, outcome := range list {
			if cells[name] == nil {
				cells[name] = make([]string, len(d.schedulers))
			}
			cells[name][i] = heldBy(outcome)
		}
	}
	rows := [][]string{header}
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		sameOutcome := func(row []string) bool { return slices.Equal(row[1:], cells[name]) }
		if i := slices.IndexFunc(rows, sameOutcome); i > 0 {
			rows[i][0] += ", " + name
			continue
		}
		rows = append(rows, append([]string{name}, cells[name]...))
	}
	return table(rows), nil
}

// heldBy returns the cell of the table for a line of a committed list.
func heldBy(outcome string) string {
	target, left := strings.CutPrefix(outcome, leftTo)
	switch {
	case left:
		return "yes (`" + target + "`)"
	case outcome == "ran":
		return "yes"
	}
	return "n/a"
}

// table in Markdown, without a newline at its end.
func table(rows [][]string) string {
	lines := make([]string, 0, len(rows)+1)
	for i, row := range rows {
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			lines = append(lines, "|"+strings.Repeat("---|", len(row)))
		}
	}
	return strings.Join(lines, "\n")
}

// TestCommittedReasons compares the committed lists with the catalogue: a scenario can be "not applicable"
// only with the reason of a capability that the scheduler lacks.
func TestCommittedReasons(t *testing.T) {
	paths, err := filepath.Glob("testdata/scenarios-*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no lists: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "scenarios-"), ".txt")
		name, _, _ = strings.Cut(name, "+") // the options of the fake
		list, err := ReadMap(path)
		if err != nil {
			t.Fatal(err)
		}
		for scenario, outcome := range list {
			reason, lacking := strings.CutPrefix(outcome, "not applicable: ")
			if lacking != slices.ContainsFunc(slices.Collect(maps.Values(CapabilitiesOf(name))), func(s Support) bool {
				return !s.Supported && s.Reason == reason
			}) {
				t.Errorf("%s: %s: %q is not the reason of a capability that %s lacks", path, scenario, outcome, name)
			}
		}
	}
}
