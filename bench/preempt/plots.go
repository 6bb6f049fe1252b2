package preempt

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// figures of a report.
func (r Results) figures() []chart.Figure {
	return []chart.Figure{r.waste(), r.orders(), r.sweeps()}
}

const barWidth = vg.Length(14)

// byWay is a panel with a row for each way, the first on top.
func byWay(title, x string, ways []sim.Line, named bool) *plot.Plot {
	panel := chart.NewPanel(title, x, "")
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = chart.GridColor, nil
	panel.Add(lines)
	names := make([]string, len(ways))
	for i, l := range ways {
		if named {
			names[len(ways)-1-i] = l.Way
		}
	}
	panel.NominalY(names...)
	panel.X.Min, panel.Y.Min, panel.Y.Max = 0, -0.6, float64(len(names))-0.4
	return panel
}

// waste is what GPU time is lost to, at each interval.
func (r Results) waste() chart.Figure {
	parts := []struct {
		name string
		of   func(sim.Line) float64
	}{
		{"lost", func(l sim.Line) float64 { return l.LostShare }},
		{"restarts", func(l sim.Line) float64 { return l.RestartShare }},
		{"idle", func(l sim.Line) float64 { return l.IdleShare }},
	}
	f := chart.Figure{
		File: "waste", Title: "What is the GPU time of a cluster wasted on?",
		Caption: "Percent of all GPU time, mean of all seeds, where checkpoints are taken at each of these " +
			"intervals. Idle is what was held for a save on demand, and what victims left until the urgent gang " +
			"started.",
		Height: 4.4 * vg.Inch,
	}
	var panels []*plot.Plot
	longest := 0.0
	for i, p := range r.Intervals.Points {
		panel := byWay("a checkpoint every "+p.Label, "% of GPU time", p.Lines, i == 0)
		var below *plotter.BarChart
		for j, part := range parts {
			values := make(plotter.Values, len(p.Lines))
			for k, l := range p.Lines {
				values[len(p.Lines)-1-k] = part.of(l)
				longest = max(longest, l.LostShare+l.RestartShare+l.IdleShare)
			}
			bars := &plotter.BarChart{Values: values, Width: barWidth, Color: chart.Parts[j], Horizontal: true}
			if below != nil {
				bars.StackOn(below)
			}
			panel.Add(bars)
			below = bars
			if i == 0 {
				f.Legend = append(f.Legend, chart.Entry{Name: part.name, Fill: chart.Parts[j]})
			}
		}
		panels = append(panels, panel)
	}
	for _, panel := range panels {
		panel.X.Max = 1.05 * longest
	}
	f.Panels = [][]*plot.Plot{panels}
	return f
}

// orders compares all ways on other clusters and gangs.
func (r Results) orders() chart.Figure {
	points := append([]Point{r.Intervals.Points[1], r.Large}, r.Traces...)
	points[0].Label = "64 nodes, random gangs"
	var panels []*plot.Plot
	for i, p := range points {
		panel := byWay(p.Label, "lost work, by youngest first", p.Lines, i%3 == 0)
		for k, l := range p.Lines {
			if l.Lost.N == 0 {
				continue
			}
			y := float64(len(p.Lines) - 1 - k)
			if l.Lost.Interval.Known() {
				panel.Add(stroke(chart.Distinct[k%len(chart.Distinct)], plotter.XYs{
					{X: l.Lost.Interval.Low, Y: y}, {X: l.Lost.Interval.High, Y: y},
				}))
			}
			panel.Add(dot(chart.Distinct[k%len(chart.Distinct)], l.Lost.Median.Low, y))
		}
		panel.X.Max = max(panel.X.Max*1.05, 1.1)
		panels = append(panels, panel)
	}
	const columns = 3
	rows := [][]*plot.Plot{}
	for len(panels) > 0 {
		row := make([]*plot.Plot, columns)
		panels = panels[copy(row, panels):]
		rows = append(rows, row)
	}
	return chart.Figure{
		File: "orders", Title: "How much work is lost, by what youngest first loses?",
		Caption: "Medians of the seeds' ratios with their 95% intervals, a checkpoint every 30 minutes. A seed " +
			"in which youngest first loses nothing has no ratio.",
		Panels: rows, Height: vg.Length(len(rows))*2.6*vg.Inch + 1.2*vg.Inch,
	}
}

// sweeps of the planner's two ways.
func (r Results) sweeps() chart.Figure {
	f := chart.Figure{
		File: "sweeps", Title: "When does choosing the cheapest help, and when does asking?",
		Caption: "Lost work (solid) and all waste (dashed) by those of youngest first: medians of the seeds' " +
			"ratios with the 95% intervals of lost work. All else is as in the base.",
		Height: 6.4 * vg.Inch,
	}
	ways := []struct {
		name string
		ink  color.Color
	}{{sim.CheapestFirst, chart.Distinct[0]}, {sim.AskedToSave, chart.Distinct[1]}}
	for _, way := range ways {
		f.Legend = append(f.Legend, chart.Entry{Name: way.name, Line: draw.LineStyle{Color: way.ink, Width: 2}})
	}
	var panels []*plot.Plot
	for _, study := range append([]Study{r.Intervals}, r.Sweeps...) {
		panel := chart.NewPanel(study.Title, "", "ratio")
		panel.Add(chart.BackGrid())
		var labels []string
		for _, p := range study.Points {
			labels = append(labels, p.Label)
		}
		panel.NominalX(labels...)
		for _, way := range ways {
			study.draw(panel, way.name, way.ink)
		}
		panel.X.Min, panel.X.Max, panel.Y.Min = -0.3, float64(len(labels))-0.7, 0
		panel.Y.Max = max(1, panel.Y.Max*1.05)
		panels = append(panels, panel)
	}
	const columns = 3
	f.Panels = [][]*plot.Plot{panels[:columns], panels[columns:]}
	return f
}

func (s Study) draw(panel *plot.Plot, way string, ink color.Color) {
	var lost, waste plotter.XYs
	for i, p := range s.Points {
		l, x := p.line(way), float64(i)
		if l.Waste.Median.Known() {
			waste = append(waste, plotter.XY{X: x, Y: l.Waste.Median.Low})
		}
		if l.Lost.Median.Known() {
			lost = append(lost, plotter.XY{X: x, Y: l.Lost.Median.Low})
			panel.Add(dot(ink, x, l.Lost.Median.Low))
		}
		if l.Lost.Interval.Known() {
			panel.Add(stroke(ink, plotter.XYs{{X: x, Y: l.Lost.Interval.Low}, {X: x, Y: l.Lost.Interval.High}}))
		}
	}
	panel.Add(&plotter.Line{XYs: lost, LineStyle: draw.LineStyle{Color: ink, Width: 2}})
	panel.Add(&plotter.Line{XYs: waste, LineStyle: draw.LineStyle{
		Color: ink, Width: 1.5, Dashes: []vg.Length{vg.Points(5), vg.Points(3)},
	}})
}

func stroke(ink color.Color, along plotter.XYs) *plotter.Line {
	return &plotter.Line{XYs: along, LineStyle: draw.LineStyle{Color: ink, Width: vg.Points(1.5)}}
}

func dot(ink color.Color, x, y float64) *plotter.Scatter {
	return &plotter.Scatter{
		XYs:        plotter.XYs{{X: x, Y: y}},
		GlyphStyle: draw.GlyphStyle{Color: ink, Radius: 3.5, Shape: draw.CircleGlyph{}},
	}
}
