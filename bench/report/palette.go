package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// stackColors are told apart by people with any common kind of color blindness: Paul Tol's "muted" scheme
// (Technical Note SRON/EPS/TN/09-002), with black as the tenth, in an order that sets neighbors apart.
var stackColors = []color.Color{
	rgb(0x332288), rgb(0xCC6677), rgb(0x117733), rgb(0x88CCEE), rgb(0xAA4499),
	rgb(0x999933), rgb(0x000000), rgb(0x44AA99), rgb(0x882255), rgb(0xDDCC77),
}

// partColors are those of what is no stack, such as clients: Okabe and Ito's, with grey for the rest.
var partColors = []color.Color{
	rgb(0x0072B2), rgb(0xE69F00), rgb(0x009E73), rgb(0xCC79A7), rgb(0x56B4E9), rgb(0xD55E00), rgb(0xF0E442),
}

var (
	otherColor = rgb(0xBBBBBB)
	heldColor  = rgb(0xF2A900)
	white      = rgb(0xFFFFFF)
	gridColor  = rgb(0xE5E5E5)
	textColor  = rgb(0x222222)
	noteColor  = rgb(0x555555)
)

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF} //nolint:gosec // cut
}

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
		l := look{color: stackColors[i%len(stackColors)]}
		l.line = draw.LineStyle{Color: l.color, Width: vg.Points(1.3)}
		switch {
		case s.Ours:
			l.line.Width = vg.Points(2.4)
		case s.Name == s.Floor:
			l.line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		if i >= len(stackColors) { // colors come around again
			l.line.Dashes = []vg.Length{vg.Points(1.5), vg.Points(2)}
		}
		p[s.Name] = l
	}
	return p
}
