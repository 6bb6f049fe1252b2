package jobview

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// sample of an attempt, one minute per step.
func sample(attempt int32, step int64, loss string) history.Sample {
	return history.Sample{
		Attempt: attempt, Step: step, Time: epoch.Add(time.Duration(step) * time.Minute),
		Metrics: map[string]string{"loss": loss},
	}
}

// lossOf samples, by step.
func lossOf(t *testing.T, in Input) Curve {
	t.Helper()
	curves := curvesOf(&in).Curves
	if len(curves) == 0 || curves[0].Name != "loss" {
		t.Fatalf("there is no curve of the loss: %+v", curves)
	}
	return curves[0]
}

// TestLinesBreakWhereAttemptsDo: each attempt has a line, and its lost part has another.
func TestLinesBreakWhereAttemptsDo(t *testing.T) {
	in := Input{Samples: []history.Sample{
		sample(1, 0, "4"), sample(1, 10, "3"), sample(1, 20, "2"),
		sample(2, 11, "2.9"), sample(2, 20, "2"),
		sample(3, 15, "2.4"), sample(3, 20, "2"),
		sample(4, 20, "2"),
	}}
	in.Record.Attempts = []history.Attempt{
		{Number: 1, Seen: true},
		{Number: 2, Seen: true, ResumedFrom: &v1alpha1.CheckpointPoint{Step: 10}},
		{Number: 3}, // its resume point is unknown
		{Number: 4, Seen: true},
	}
	c := lossOf(t, in)
	var got []string
	for _, l := range c.Lines {
		got = append(got, fmt.Sprintf("%d %t %s", l.Attempt, l.Lost, l.Path))
	}
	low, high := "132.5", "7.5"
	want := []string{
		"1 false M0 " + high + "h0L500 70",
		"1 true M500 70h0L1000 " + low,
		"2 false M550 76.3h0L1000 " + low,
		"3 true M750 107.5h0L1000 " + low,
		"4 false M1000 " + low + "h0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	var marks []string
	for _, m := range c.Marks {
		marks = append(marks, fmt.Sprintf("%s %.0f %s", m.Kind, m.At, m.Title))
	}
	wantMarks := []string{"resumed 50 attempt 2 resumed: step 10"} // 3 began unseen, 4 from step 0
	if diff := cmp.Diff(wantMarks, marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

// TestNotANumberBreaksTheLine: such values are counted. A metric without a number has no curve.
func TestNotANumberBreaksTheLine(t *testing.T) {
	in := Input{Samples: []history.Sample{
		sample(1, 0, "4"), sample(1, 10, " nan"), sample(1, 20, "2"), sample(1, 30, "1e999"), sample(1, 40, "2"),
		sample(1, 50, "2"),
	}}
	c := lossOf(t, in)
	if n := strings.Count(c.Lines[0].Path, "M"); n != 3 || c.Strange != 2 {
		t.Errorf("%d pieces, %d strange values: %s", n, c.Strange, c.Lines[0].Path)
	}
	if !strings.Contains(c.Alternative, "2 values cannot be drawn") {
		t.Errorf("its alternative does not say so: %s", c.Alternative)
	}
	in.Samples = []history.Sample{sample(1, 0, "NaN"), sample(1, 1, "-Inf")}
	if c := lossOf(t, in); len(c.Lines) != 0 || !strings.Contains(c.Alternative, "no value") {
		t.Errorf("nothing can be drawn, but it has %+v", c)
	}
	in.Samples = []history.Sample{sample(1, 0, "1"), sample(1, 0, "low")}
	if all := curvesOf(&in).Curves; len(all) != 0 {
		t.Errorf("words have a curve: %+v", all)
	}
}

// TestPeaksAreKept: a curve of many points is thinned without losing peaks.
func TestPeaksAreKept(t *testing.T) {
	var points []point
	for i := range 20000 {
		points = append(points, point{step: int64(i), time: epoch, y: math.Sin(float64(i) / 500)})
	}
	points[7777].y, points[12345].y = 9, -9
	f := &frame{by: ByStep, y: scaleOf(-9, 9, 0), step: scaleOf(0, 19999, 0)}
	kept := thinned(points, f)
	if len(kept) > 4*curveWidth/2+4 {
		t.Errorf("%d points are drawn", len(kept))
	}
	seen := map[int64]bool{}
	for i, p := range kept {
		seen[p.step] = true
		if i > 0 && p.step <= kept[i-1].step {
			t.Fatalf("step %d is behind %d", p.step, kept[i-1].step)
		}
	}
	for _, step := range []int64{0, 7777, 12345, 19999} {
		if !seen[step] {
			t.Errorf("step %d is not drawn", step)
		}
	}
}

// TestSpeed: it is computed between two consecutive reports.
func TestSpeed(t *testing.T) {
	at := func(attempt int32, step int64, seconds int) history.Sample {
		return history.Sample{Attempt: attempt, Step: step, Time: epoch.Add(time.Duration(seconds) * time.Second)}
	}
	var got []string
	for _, s := range speedOf([]history.Sample{
		at(1, 0, 0), at(1, 10, 10), at(1, 15, 10), at(1, 20, 15), at(2, 5, 100), at(3, 7, 200), at(3, 17, 202),
	}) {
		for _, p := range s.points {
			got = append(got, fmt.Sprintf("%d: %d %g", s.attempt, p.step, p.y))
		}
	}
	if diff := cmp.Diff([]string{"1: 10 1", "1: 20 2", "3: 17 5"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyMetrics: the most interesting ones are drawn, and the others are named.
func TestManyMetrics(t *testing.T) {
	metrics := map[string]string{"eval_loss": "1", "loss": "1", "samples_per_second": "3"}
	for i := range 20 {
		metrics[fmt.Sprintf("a%02d", i)] = "1"
	}
	c := curvesOf(&Input{Samples: []history.Sample{{Attempt: 1, Step: 1, Time: epoch, Metrics: metrics}}})
	var names []string
	for _, one := range c.Curves[:4] {
		names = append(names, one.Name)
	}
	if diff := cmp.Diff([]string{"loss", "eval_loss", "samples_per_second", "a00"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Curves) != maxCurves || len(c.Others) != len(metrics)-maxCurves {
		t.Errorf("%d are drawn, and %d named", len(c.Curves), len(c.Others))
	}
}
