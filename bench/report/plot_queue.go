package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// plotQueueDelay shows a panel for every priority, on the same axis.
func plotQueueDelay(p played, look palette) (figure, bool) {
	var panels []*plot.Plot
	var seconds []float64
	for _, priority := range priorities {
		panel := p.byStack("priority "+string(priority), "seconds", len(panels) == 0)
		drawn := p.dumbbells(panel, look, queueDelay(0.5, priority), queueDelay(0.99, priority))
		if len(drawn) == 0 {
			continue
		}
		panels, seconds = append(panels, panel), append(seconds, drawn...)
	}
	longest := 0.0
	for _, panel := range panels {
		longest = max(longest, panel.X.Max)
	}
	for _, panel := range panels {
		panel.X.Max = longest
		timeAxis(&panel.X, seconds)
	}
	return figure{
		kind: "queue-delay", Figure: chart.Figure{Panels: [][]*plot.Plot{panels}, Height: p.height()},
	}, len(panels) > 0
}

// dumbbells of two quantiles, a row a stack. It returns the seconds that it shows.
func (p played) dumbbells(panel *plot.Plot, look palette, low, high measure) []float64 {
	var shown []float64
	for i, s := range p.stacks {
		from, to := s.over(p.Workload, low), s.over(p.Workload, high)
		if !from.Known() || !to.Known() {
			continue
		}
		y, ink := float64(p.row(i)), look[s.Name].color
		ends := plotter.XYs{{X: max(from.Low, shortest), Y: y}, {X: max(to.Low, shortest), Y: y}}
		line := &plotter.Line{XYs: ends, LineStyle: draw.LineStyle{Color: ink, Width: vg.Points(1.5)}}
		panel.Add(line)
		for j, b := range []stats.Bounds{from, to} {
			style := draw.GlyphStyle{Color: ink, Radius: vg.Points(4), Shape: draw.CircleGlyph{}}
			switch {
			case math.IsInf(b.High, 1):
				style.Shape = arrowGlyph{}
			case j == 1:
				style.Shape = ringGlyph{}
			}
			panel.Add(&plotter.Scatter{XYs: ends[j : j+1], GlyphStyle: style})
		}
		shown = append(shown, ends[0].X, ends[1].X)
	}
	return shown
}

// arrowGlyph points to the right: the value is beyond.
type arrowGlyph struct{}

func (arrowGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius
	c.FillPolygon(style.Color, []vg.Point{
		{X: at.X - r, Y: at.Y - 1.2*r}, {X: at.X - r, Y: at.Y + 1.2*r}, {X: at.X + 1.2*r, Y: at.Y},
	})
}

// ringGlyph is white inside, so that it is seen on a line.
type ringGlyph struct{}

func (ringGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
	style.Radius *= 0.6
	c.SetColor(chart.White)
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
}

// plotUse shows a small panel for every stack.
func plotUse(p played, look palette) (figure, bool) {
	end, beyond := p.horizon()
	var panels []*plot.Plot
	for _, s := range p.stacks {
		run := s.typical()
		c := run.Curves
		if p.GPUs == 0 || len(c.BusyGPUs) == 0 {
			continue
		}
		panel := chart.NewPanel(s.Name, "", "")
		panel.Add(chart.BackGrid())
		share := 100 / float64(p.GPUs)
		if len(c.HeldGPUs) > 0 {
			taken := make([]int, len(c.BusyGPUs))
			for i, busy := range c.BusyGPUs {
				taken[i] = busy + c.HeldGPUs[i]
			}
			panel.Add(area(step(taken, c.Seconds, share, look[s.Name]), chart.Held))
		}
		panel.Add(area(step(c.BusyGPUs, c.Seconds, share, look[s.Name]), look[s.Name].color))
		panel.X.Min, panel.X.Max, panel.Y.Min, panel.Y.Max = 0, end, 0, 100
		panel.X.Tick.Marker, panel.Y.Tick.Marker = chart.RoundTicks(4), chart.RoundTicks(4)
		panels = append(panels, panel)
	}
	if len(panels) == 0 {
		return figure{}, false
	}
	rows := chart.Grid(panels)
	labelEdges(rows, "time (s)", "GPUs (%)")
	return figure{
		kind: "gpu-use", beyond: beyond, Figure: chart.Figure{
			Panels: rows, Height: vg.Length(len(rows))*1.75*vg.Inch + 1.1*vg.Inch,
			Legend: []chart.Entry{{Name: "incomplete gangs", Fill: chart.Held}},
		},
	}, true
}

// area below a curve; steps are spelled out, since a filled line draws its own differently.
func area(line *plotter.Line, fill color.Color) *plotter.Line {
	var corners plotter.XYs
	for i, point := range line.XYs {
		if i > 0 {
			corners = append(corners, plotter.XY{X: point.X, Y: line.XYs[i-1].Y})
		}
		corners = append(corners, point)
	}
	return &plotter.Line{XYs: corners, FillColor: fill}
}

// labelEdges names the axes of the outer panels only.
func labelEdges(rows [][]*plot.Plot, x, y string) {
	for i, row := range rows {
		for j, panel := range row {
			if panel == nil {
				continue
			}
			if j == 0 {
				panel.Y.Label.Text = y
			}
			if i == len(rows)-1 || rows[i+1][j] == nil {
				panel.X.Label.Text = x
			}
		}
	}
}
