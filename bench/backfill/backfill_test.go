package backfill

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// small results, of gangs that are played in a moment.
func small(t *testing.T) Results {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace.csv")
	text := "job,ranks,submit_seconds,duration_seconds\na,4,0,36000\nb,1,60,7200\nc,2,120,7200\n" +
		"d,1,600000,7200\n"
	if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	traced, err := Traced(trace)
	if err != nil {
		t.Fatal(err)
	}
	sources := []Source{Generated(200), traced}
	r, err := Play(t.Context(), Options{Seeds: 1, Sources: sources, Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReport: the same seeds give the same bytes, and each row has as many cells as its head.
func TestReport(t *testing.T) {
	var pages [2][]byte
	for i := range pages {
		r := small(t)
		page, err := r.Markdown()
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = page
		if want := 2; len(r.Sections) != want || len(r.Sections[0].Loads) != len(loads) ||
			len(r.Sections[0].Variations) != len(variations()) {
			t.Errorf("%d sections, want %d with all settings", len(r.Sections), want)
		}
	}
	if !bytes.Equal(pages[0], pages[1]) {
		t.Error("the second report differs")
	}
	checkTables(t, string(pages[0]))
}

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
		if n != cells || strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("line %d has %d cells, want %d: %s", i+1, n-1, cells-1, line)
		}
	}
}

func TestTargetsAreMetAsTheyAreShown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		target Target
		met    bool
	}{
		"at most":        {"0.504 is shown as 0.50", Target{Most: 0.5, Got: 0.504}, true},
		"more":           {"0.506 is shown as 0.51", Target{Most: 0.5, Got: 0.506}, false},
		"at least":       {"0.986 is shown as 0.99", Target{Least: 0.99, Got: 0.986}, true},
		"less":           {"0.984 is shown as 0.98", Target{Least: 0.99, Got: 0.984}, false},
		"no upper bound": {"more useful GPU time", Target{Least: 0.99, Got: 1.02}, true},
	} {
		if got := tc.target.Met(); got != tc.met {
			t.Errorf("%s: met %t, want %t: %s", name, got, tc.met, tc.reason)
		}
	}
}

func TestATraceThatIsMissing(t *testing.T) {
	_, err := Traced(filepath.Join(t.TempDir(), "none.csv"))
	if err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("error %v, want one that names none.csv", err)
	}
}
