package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
)

// plotsFolder is in the folder of the report.
const plotsFolder = "plots"

// drawn are the costs that have a curve: the row that has them, and what their panel is called.
var drawn = []struct{ row, title string }{
	{"filling: API server's CPU per gang, ms", "API server's CPU per gang (ms)"},
	{"queueing: operator's CPU per job, ms", "operator's CPU per job that waits (ms)"},
	{"queueing: operator's writes per job", "operator's writes per job that waits"},
	{"operator's memory at most, MB", "operator's memory at most (MB)"},
	{"API server's memory at most, MB", "API server's memory at most (MB)"},
	{"preempting: ms until a victim's last rank is gone, worst", "worst answer to a preemption (ms)"},
}

// curves over the number of jobs: a line for each scheduler.
func (r *Results) curves() chart.Figure {
	f := chart.Figure{
		File: "scale", Title: "How do costs grow with the number of jobs?",
		Caption: "Both axes are logarithmic. Nodes, ranks and jobs grow together: for 11 jobs there are a " +
			"node, 8 ranks that run and 10 jobs that wait.",
		Height: 6.4 * vg.Inch,
	}
	const columns = 3
	schedulers := r.schedulers()
	for i, name := range schedulers {
		f.Legend = append(f.Legend, chart.Entry{Name: name, Line: strokeOf(i)})
	}
	var panels []*plot.Plot
	for _, d := range drawn {
		for _, c := range costs() {
			if c.title != d.row {
				continue
			}
			if panel := r.panel(c, d.title, schedulers); panel != nil {
				panels = append(panels, panel)
			}
		}
	}
	for len(panels)%columns > 0 { // rows are of one length
		panels = append(panels, nil)
	}
	f.Panels = slices.Collect(slices.Chunk(panels, columns))
	return f
}

func (r *Results) panel(c cost, title string, schedulers []string) *plot.Plot {
	panel := chart.NewPanel(title, "jobs", "")
	panel.Add(chart.BackGrid())
	empty := true
	for i, name := range schedulers {
		var points plotter.XYs
		for _, s := range r.of(name) {
			if v, known := c.of(s); known && v > 0 {
				points = append(points, plotter.XY{X: float64(s.Size.Jobs()), Y: v})
			}
		}
		if len(points) == 0 {
			continue
		}
		empty = false
		panel.Add(&plotter.Line{XYs: points, LineStyle: strokeOf(i)}, &plotter.Scatter{
			XYs: points, GlyphStyle: draw.GlyphStyle{Color: strokeOf(i).Color, Radius: 2.5, Shape: draw.CircleGlyph{}},
		})
	}
	if empty { // a logarithm needs something
		return nil
	}
	panel.X.Scale, panel.Y.Scale = plot.LogScale{}, plot.LogScale{}
	panel.X.Tick.Marker, panel.Y.Tick.Marker = chart.LogTicks{}, chart.LogTicks{}
	// A power of ten at least, so that a constant value appears as constant.
	panel.X.Min, panel.X.Max = panel.X.Min/1.2, panel.X.Max*1.2
	for panel.Y.Max < 10*panel.Y.Min {
		panel.Y.Min, panel.Y.Max = panel.Y.Min/1.1, panel.Y.Max*1.1
	}
	return panel
}

func strokeOf(scheduler int) draw.LineStyle {
	return draw.LineStyle{Color: chart.Distinct[scheduler%len(chart.Distinct)], Width: 1.5}
}

// savePlots writes the plots next to a report.
func (r *Results) savePlots(dir string) error {
	folder := filepath.Join(dir, plotsFolder)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("making a folder for the plots: %w", err)
	}
	return r.curves().Save(folder)
}
