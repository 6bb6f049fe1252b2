package report

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
)

// byStack makes a panel with one row a stack, the first on top. Of several, only the leftmost has names,
// which say where runs were cut.
func (p played) byStack(title, x string, named bool) *plot.Plot {
	panel := chart.NewPanel(title, x, "")
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = chart.GridColor, nil
	panel.Add(lines)
	names := make([]string, len(p.stacks))
	for i, s := range p.stacks {
		if named {
			names[p.row(i)] = s.Name
			if len(ended(s.runs)) < len(s.runs) {
				names[p.row(i)] += " (cut)"
			}
		}
	}
	panel.NominalY(names...)
	panel.X.Min, panel.Y.Min, panel.Y.Max = 0, -0.6, float64(len(names))-0.4
	return panel
}

// row of the i-th stack, counted from below.
func (p played) row(i int) int { return len(p.stacks) - 1 - i }

// barWidth is the height of a bar that lies.
const barWidth = vg.Length(14)

// height of a figure with one row a stack.
func (p played) height() vg.Length { return 1.9*vg.Inch + vg.Length(len(p.stacks))*1.65*barWidth }

// plotWrites shows writes per job as bars of stacks, made of clients.
func plotWrites(p played, _ palette) (figure, bool) {
	rows := p.breakdowns(math.MaxInt, writesPerJob)
	if isZero(rows) {
		return figure{}, false
	}
	panel := p.byStack("", "API writes per job", true)
	f := figure{kind: "writes", Figure: chart.Figure{Panels: [][]*plot.Plot{{panel}}, Height: p.height()}}
	var below *plotter.BarChart
	for i, clients := range clientsOf(rows) {
		values := make(plotter.Values, len(rows))
		for j, row := range rows {
			for _, s := range row.Shares {
				if slices.Contains(clients, s.Name) {
					values[p.row(j)] += s.Amount
				}
			}
		}
		entry := chart.Entry{Name: clients[0], Fill: chart.Other}
		if i < len(chart.Parts) {
			entry.Fill = chart.Parts[i]
		} else if len(clients) > 1 {
			entry.Name = others
		}
		bars := &plotter.BarChart{Values: values, Width: barWidth, Color: entry.Fill, Horizontal: true}
		if below != nil {
			bars.StackOn(below)
		}
		panel.Add(bars)
		f.Legend = append(f.Legend, entry)
		below = bars
	}
	return f, true
}

// clientsOf all stacks, those with the most writes first, one for every color; the last group has all others.
func clientsOf(rows []breakdown) [][]string {
	sums := map[string]float64{}
	var names []string
	for _, row := range rows {
		for _, s := range row.Shares {
			if _, ok := sums[s.Name]; !ok {
				names = append(names, s.Name)
			}
			sums[s.Name] += s.Amount
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	var groups [][]string
	for i, name := range names {
		if i <= len(chart.Parts) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], name)
	}
	return groups
}

// plotLost shows what interruptions cost.
func plotLost(p played, look palette) (figure, bool) {
	const hour = 3600
	panel := p.byStack("work that was lost", "GPU-hours", true)
	some := false
	for i, s := range p.stacks {
		value := s.over(p.Workload, count(lost))
		bar := &plotter.BarChart{
			Values: plotter.Values{value.Low / hour}, XMin: float64(p.row(i)), Width: barWidth,
			Color: look[s.Name].color, Horizontal: true,
		}
		panel.Add(bar, p.rounds(s, i, count(lost), 1.0/hour))
		some = some || value.High > 0
	}
	resumed := p.byStack("time to resume: p50 (dot) to p99 (ring)", "seconds", false)
	panels := []*plot.Plot{panel}
	if seconds := p.dumbbells(resumed, look, resume(0.5), resume(0.99)); len(seconds) > 0 {
		timeAxis(&resumed.X, seconds)
		panels = append(panels, resumed)
	}
	return figure{kind: "lost", Figure: chart.Figure{Panels: [][]*plot.Plot{panels}, Height: p.height()}}, some
}

// rounds of a measure, a ring each.
func (p played) rounds(s stackRuns, i int, of measure, scale float64) *plotter.Scatter {
	var points plotter.XYs
	for _, run := range s.runs {
		points = append(points, plotter.XY{X: of(p.Workload, run).Low * scale, Y: float64(p.row(i))})
	}
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{
		Color: chart.Ink, Radius: vg.Points(2.5), Shape: ringGlyph{},
	}}
}
