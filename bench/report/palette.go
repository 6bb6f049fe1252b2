package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// palette gives every stack the same look in every plot of a report.
type palette map[string]look

// look of a stack: a floor is dashed and ours is thick, so that color is not all that tells them apart.
type look struct {
	color color.Color
	line  draw.LineStyle
}

func newPalette(stacks []result.Stack) palette {
	p := palette{}
	for i, s := range stacks {
		l := look{color: chart.Distinct[i%len(chart.Distinct)]}
		l.line = draw.LineStyle{Color: l.color, Width: vg.Points(1.3)}
		switch {
		case s.Ours:
			l.line.Width = vg.Points(2.4)
		case s.Name == s.Floor:
			l.line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		if i >= len(chart.Distinct) { // colors come around again
			l.line.Dashes = []vg.Length{vg.Points(1.5), vg.Points(2)}
		}
		p[s.Name] = l
	}
	return p
}
