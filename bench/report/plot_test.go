package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// TestTimeAxis: times that spread widely are on a logarithmic axis.
func TestTimeAxis(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		seconds []float64
		log     bool
	}{
		"near":    {"a linear axis shows all", []float64{10, 12, 20, 30}, false},
		"far":     {"the small ones would be one", []float64{1, 2, 20, 300}, true},
		"zeros":   {"no logarithm of 0", []float64{0.01, 0.01, 5, 6}, true},
		"nothing": {"nothing to show", nil, false},
	} {
		panel := chart.NewPanel("", "", "")
		panel.X.Max = 300
		timeAxis(&panel.X, tc.seconds)
		if _, log := panel.X.Scale.(plot.LogScale); log != tc.log || log && panel.X.Min <= 0 {
			t.Errorf("%s: logarithmic %t from %v, want %t: %s", name, log, panel.X.Min, tc.log, tc.reason)
		}
	}
}

func TestFiguresWhereThereIsData(t *testing.T) {
	r := fixture()
	want := map[string][]string{
		"burst": {"curves", "bound-cdf", "queue-delay", "gpu-use", "writes"},
		"queue": {"bound-cdf", "queue-delay", "writes", "lost"},
	}
	for _, p := range playedOf(r) {
		all, err := figures(p, newPalette(r.Stacks))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, f := range all {
			kinds = append(kinds, f.kind)
			if f.Title != p.Question || strings.ContainsAny(f.Caption, "\n") || len(f.Caption) < 50 {
				t.Errorf("%s has title %q and caption %q", f.File, f.Title, f.Caption)
			}
		}
		if diff := cmp.Diff(want[p.Name], kinds); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
	}
}

// TestLooksDiffer: every stack has its own look, also when there are more stacks than colors.
func TestLooksDiffer(t *testing.T) {
	var stacks []result.Stack
	for i := range 12 {
		name := string(rune('a' + i))
		stacks = append(stacks, result.Stack{Name: name, Floor: "raw"})
	}
	looks := newPalette(stacks)
	for i, a := range stacks {
		for _, b := range stacks[i+1:] {
			if cmp.Equal(looks[a.Name].line, looks[b.Name].line) {
				t.Errorf("%s and %s look the same", a.Name, b.Name)
			}
		}
	}
}

func TestHorizon(t *testing.T) {
	r := fixture()
	end, beyond := playedIn(r, r.Workloads[0]).horizon()
	if diff := cmp.Diff([]string{"peer/volcano"}, beyond); diff != "" || end < 40 || end > 80 {
		t.Errorf("the axis ends at %v s: %s", end, diff)
	}
}

func TestTypicalRun(t *testing.T) {
	s := stackRuns{runs: []result.Run{
		{Round: 1, Seconds: 30}, {Round: 2, Seconds: 25, CutAfter: 25}, {Round: 3, Seconds: 20},
		{Round: 4, Seconds: 10},
	}}
	if got := s.typical().Round; got != 3 {
		t.Errorf("round %d is typical, want 3: a run that was cut is longer than all others", got)
	}
}

func TestCumulative(t *testing.T) {
	line, known := cumulative([]stats.Bounds{stats.Exactly(4), stats.AtLeast(9), stats.Exactly(2)}, 9)
	var got [][2]float64
	for _, point := range line.XYs {
		got = append(got, [2]float64{point.X, float64(int(point.Y))})
	}
	want := [][2]float64{{2, 0}, {2, 33}, {4, 66}, {9, 66}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{2, 4}, known); diff != "" {
		t.Error(diff)
	}
}

func TestClientsHaveColors(t *testing.T) {
	row := breakdown{}
	for i := range 10 {
		row.Shares = append(row.Shares, share{string(rune('a' + i)), float64(i)})
	}
	got := clientsOf([]breakdown{row, {Shares: []share{{"a", 100}}}})
	want := [][]string{{"a"}, {"j"}, {"i"}, {"h"}, {"g"}, {"f"}, {"e"}, {"d", "c", "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
