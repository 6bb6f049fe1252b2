package report

import (
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// shownPoints of a line at most: more than a panel has columns of pixels are not seen.
const shownPoints = 600

// figure is one plot of the report.
type figure struct {
	chart.Figure
	// kind is the name of its caption, and with the workload's name that of its files.
	kind string
	// beyond are the stacks that go on after the end of the time axis.
	beyond []string
}

// figures of a workload for which there is data.
func figures(p played, look palette) ([]figure, error) {
	if len(p.stacks) == 0 {
		return nil, nil
	}
	var all []figure
	for _, draw := range []func(played, palette) (figure, bool){
		plotCurves, plotBoundCDF, plotQueueDelay, plotUse, plotWrites, plotLost,
	} {
		f, ok := draw(p, look)
		if !ok {
			continue
		}
		var caption strings.Builder
		if err := render(&caption, f.kind, f.beyond); err != nil {
			return nil, err
		}
		f.File, f.Title, f.Caption = p.Name+"-"+f.kind, p.Question, caption.String()
		all = append(all, f)
	}
	return all, nil
}

// typical run of a stack: the one with the median time, of two the faster.
func (s stackRuns) typical() result.Run {
	byTime := slices.Clone(s.runs)
	slices.SortStableFunc(byTime, func(a, b result.Run) int {
		return compareTimes(untilEnd(result.Workload{}, a), untilEnd(result.Workload{}, b))
	})
	return byTime[(len(byTime)-1)/2]
}

func compareTimes(a, b stats.Bounds) int {
	switch {
	case a.High < b.High || a.High == b.High && a.Low < b.Low:
		return -1
	case a == b:
		return 0
	default:
		return 1
	}
}

// horizon is where the time axis of a plot ends, in seconds, and the stacks that go on after that: one slow
// stack must not squeeze all others into a corner.
func (p played) horizon() (end float64, beyond []string) {
	const medians = 3
	var ends []stats.Bounds
	for _, s := range p.stacks {
		ends = append(ends, stats.Exactly(s.typical().Seconds))
	}
	end = min(stats.Quantile(1, ends).Low, medians*stats.Median(ends).Low)
	for _, s := range p.stacks {
		if s.typical().Seconds > end {
			beyond = append(beyond, s.Name)
		}
	}
	return end, beyond
}

func plotCurves(p played, look palette) (figure, bool) {
	end, beyond := p.horizon()
	var panels []*plot.Plot
	for _, kind := range []struct {
		title string
		of    func(result.Curves) []int
	}{
		{"created", func(c result.Curves) []int { return c.Created }},
		{"admitted", func(c result.Curves) []int { return c.Admitted }},
		{"bound", func(c result.Curves) []int { return c.Bound }},
	} {
		panel := chart.NewPanel(kind.title, "time (s)", "gangs")
		panel.Add(chart.BackGrid())
		lines := 0
		for _, s := range p.drawingOrder() {
			run := s.typical()
			if curve := kind.of(run.Curves); slices.Max(append(curve, 0)) > 0 {
				panel.Add(step(curve, run.Curves.Seconds, 1, look[s.Name]))
				lines++
			}
		}
		if lines > 0 {
			panel.X.Min, panel.X.Max, panel.Y.Min, panel.Y.Max = 0, end, 0, float64(p.Gangs)
			panels = append(panels, panel)
		}
	}
	return figure{
		kind: "curves", beyond: beyond, Figure: chart.Figure{
			Panels: [][]*plot.Plot{panels}, Legend: p.legend(look), Height: 4.2 * vg.Inch,
		},
	}, len(panels) > 0
}

// drawingOrder puts thick lines below thin ones, and dashed ones on top, so that all are seen where they
// meet.
func (p played) drawingOrder() []stackRuns {
	layer := func(s stackRuns) int {
		switch {
		case s.Ours:
			return 0
		case s.Name == s.Floor:
			return 2
		default:
			return 1
		}
	}
	ordered := slices.Clone(p.stacks)
	slices.SortStableFunc(ordered, func(a, b stackRuns) int { return layer(a) - layer(b) })
	return ordered
}

// legend of all stacks as lines.
func (p played) legend(look palette) []chart.Entry {
	var all []chart.Entry
	for _, s := range p.stacks {
		all = append(all, chart.Entry{Name: s.Name, Line: look[s.Name].line})
	}
	return all
}

// step is a curve that holds its value until the next sample.
func step(values []int, seconds []float64, scale float64, l look) *plotter.Line {
	every := max(1, (len(values)+shownPoints-1)/shownPoints)
	var points plotter.XYs
	for i, v := range values {
		if i%every == 0 || i == len(values)-1 {
			points = append(points, plotter.XY{X: seconds[i], Y: scale * float64(v)})
		}
	}
	return &plotter.Line{XYs: points, StepStyle: plotter.PostStep, LineStyle: l.line}
}

func plotBoundCDF(p played, look palette) (figure, bool) {
	panel := chart.NewPanel("", "time from submission to all ranks bound (s)", "share of gangs (%)")
	panel.Add(chart.BackGrid())
	var all []float64
	for _, s := range p.drawingOrder() {
		var times []stats.Bounds
		longest := 0.0
		for _, run := range s.runs {
			times = append(times, boundTimes(p.Workload, run)...)
			longest = max(longest, run.Seconds)
		}
		line, seen := cumulative(times, longest)
		if len(seen) == 0 {
			continue
		}
		line.LineStyle = look[s.Name].line
		panel.Add(line)
		all = append(all, seen...)
	}
	if len(all) == 0 {
		return figure{}, false
	}
	panel.Y.Min, panel.Y.Max = 0, 100
	timeAxis(&panel.X, all)
	return figure{
		kind: "bound-cdf", Figure: chart.Figure{
			Panels: [][]*plot.Plot{{panel}}, Legend: p.legend(look), Height: 5 * vg.Inch,
		},
	}, true
}

// cumulative distribution of times in percent, and the times that are known. It goes on to the right, up to
// longest, when some never came.
func cumulative(times []stats.Bounds, longest float64) (*plotter.Line, []float64) {
	var known []float64
	for _, t := range times {
		if t.Exact() {
			known = append(known, max(t.Low, shortest))
		}
	}
	slices.Sort(known)
	points := plotter.XYs{}
	every := max(1, (len(known)+shownPoints-1)/shownPoints)
	for i, t := range known {
		if i%every == 0 || i == len(known)-1 {
			points = append(points, plotter.XY{X: t, Y: 100 * float64(i+1) / float64(len(times))})
		}
	}
	if n := len(points); n > 0 {
		points = append(plotter.XYs{{X: points[0].X, Y: 0}}, points...)
		if len(known) < len(times) {
			points = append(points, plotter.XY{X: max(longest, points[n].X), Y: points[n].Y})
		}
	}
	return &plotter.Line{XYs: points, StepStyle: plotter.PostStep}, known
}
