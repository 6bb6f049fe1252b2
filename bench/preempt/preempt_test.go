package preempt

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// committed is the report, and quoted the page that has a table of it.
const (
	committed = "../../docs/benchmarks/preemption/report.md"
	quoted    = "../../docs/preemption.md"
)

// TestTheCommittedReport checks that the report has the results of the small shape, and complete tables.
func TestTheCommittedReport(t *testing.T) {
	text, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	small := PlaySmall()
	for name, want := range map[string]string{
		"the table of the small shape": Main(small.Comparison), "its A/A": noise(small.Comparison),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %s; run `bench preempt report`:\n%s", name, want)
		}
	}
	checkTables(t, string(text))
	agreement, err := sim.Agreements()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), agreementTable(agreement)) {
		t.Errorf("the report lacks how the models agree with the records:\n%s", agreementTable(agreement))
	}
}

// TestThePageQuotesTheReport checks that the report has each row below the heading about the simulation.
func TestThePageQuotesTheReport(t *testing.T) {
	report, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(quoted)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Simulated savings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") {
			rows++
			if !strings.Contains(string(report), line) {
				t.Errorf("the report has no such row: %s", line)
			}
		}
	}
	if want := len(sim.Ways()) + 2; !found || rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// checkTables holds each row of a table to as many cells as its head has, none of them empty.
func checkTables(t *testing.T, markdown string) {
	t.Helper()
	cells := 0
	for i, line := range strings.Split(markdown, "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(line, "|")
		if cells == 0 {
			cells = n
		}
		empty := strings.Contains(strings.ReplaceAll(line, " ", ""), "||")
		if n != cells || empty || strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("line %d has %d cells, want %d, each with a value: %s", i+1, n-1, cells-1, line)
		}
	}
}

// tiny results, of shapes that are played in a moment.
func tiny(t *testing.T) Results {
	t.Helper()
	play := func(label string, change func(*sim.Shape)) Point {
		s := Small()
		s.Nodes = 8
		change(&s)
		return Point{label, random(s, 3)}
	}
	study := func(v varied) Study {
		all := Study{Name: v.name, Title: v.title}
		for _, by := range v.by {
			all.Points = append(all.Points, play(by.label, by.change))
		}
		return all
	}
	r := Results{Seeds: 3, Intervals: study(intervals())}
	for _, v := range sweeps() {
		r.Sweeps = append(r.Sweeps, study(v))
	}
	r.Large, r.Small = play("large", func(*sim.Shape) {}), play("small", func(*sim.Shape) {})
	r.Traces = []Point{play("a trace", func(s *sim.Shape) { s.High = 0 })}
	return r
}

// TestTheSameBytes: the same seeds give the same report and the same plots.
func TestTheSameBytes(t *testing.T) {
	var dirs [2]string
	for i := range dirs {
		dirs[i] = t.TempDir()
		if err := tiny(t).Save(dirs[i]); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(dirs[0] + "/*/*")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d plots, want 3 as PNG and SVG: %v", len(files), err)
	}
	for _, file := range append(files, filepath.Join(dirs[0], "report.md")) {
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(dirs[0], file)
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(dirs[1], rel))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s differs", rel)
		}
		if rel == "report.md" {
			checkTables(t, string(first))
		}
	}
}

func TestTargetsAreMetAsTheyAreShown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		target Target
		met    bool
		missed string
	}{
		"below":    {"", Target{AtMost: 0.5, Got: 0.3}, true, "-0.20"},
		"at":       {"0.504 is shown as 0.50", Target{AtMost: 0.5, Got: 0.504}, true, "0.00"},
		"above":    {"0.506 is shown as 0.51", Target{AtMost: 0.5, Got: 0.506}, false, "0.01"},
		"seconds":  {"with its unit", Target{AtMost: 45, Got: 46.2, Unit: " s"}, false, "1.20 s"},
		"negative": {"sooner than before", Target{AtMost: 45, Got: -0.3, Unit: " s"}, true, "-45.30 s"},
	} {
		if got := tc.target.Met(); got != tc.met || tc.target.Missed() != tc.missed {
			t.Errorf("%s: met %t, by %s, want %t, %s: %s", name, got, tc.target.Missed(), tc.met, tc.missed, tc.reason)
		}
	}
}

// TestATraceThatIsNotThere says which.
func TestATraceThatIsNotThere(t *testing.T) {
	_, err := Options{Seeds: 1, Progress: io.Discard}.trace(MuriTraces(t.TempDir())[0], 1)
	if err == nil || !strings.Contains(err.Error(), "trace2.csv") {
		t.Errorf("error %v, want one that names trace2.csv", err)
	}
}

// TestLabels are short.
func TestLabels(t *testing.T) {
	var got []string
	for _, v := range append(sweeps(), intervals()) {
		for _, by := range v.by {
			got = append(got, by.label)
		}
	}
	want := strings.Fields("10s 30s 1m 2m 30s 2m 10m 0% 50% 100% 0% 50% 100% 10% 20% 30% 40% 10m 30m 1h")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
