// Package palette answers one question: what does a gang look like, wherever it is drawn?
//
// The UID of its job determines the colour and the shape of a gang: they stay the same over attempts, pages,
// viewers and restarts of the server. Two gangs can look alike (one pair in 144), and some users cannot
// distinguish the colours. So each drawing of a gang also has its name, in a title or a label.
package palette

import (
	_ "embed"
	"fmt"
	"hash/fnv"
)

// CSS defines --gang for the classes g0 to g23, in the light and in the dark theme (color-scheme).
//
//go:embed palette.css
var CSS string

// Numbers of colours and of shapes.
const (
	Colours = 24
	Shapes  = 6
)

// Look of a gang.
type Look struct {
	// Colour from 0 to Colours-1, Shape from 0 to Shapes-1.
	Colour, Shape int
}

// Of returns the look of a job by its UID.
func Of(uid string) Look {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid)) // never fails
	sum := h.Sum64()
	sum ^= sum >> 32 // the high bits of FNV differ for short texts
	return Look{int(sum % Colours), int(sum / Colours % Shapes)}
}

// Class of the colour.
func (l Look) Class() string { return fmt.Sprintf("g%d", l.Colour) }

// Size of a cell, in units of the drawing.
const Size = 10

// shapes are SVG paths within a cell, from its corner; they need the fill rule evenodd.
var shapes = [Shapes]string{
	"m.5.5h9v9h-9z",                              // a square
	"m.5.5h9v9h-9zm3 3v3h3v-3z",                  // with a hole
	"m.5.5h9v3.7h-9zm0 5.3h9v3.7h-9z",            // two bars
	"m.5.5h3.7v9h-3.7zm5.3 0h3.7v9h-3.7z",        // two pillars
	"m.5.5h9v3l-6 6h-3z",                         // without a corner
	"m.5 5a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z", // a disc
}

// Cell is the path of one GPU of the gang at a position of the drawing.
func (l Look) Cell(x, y int) string { return fmt.Sprintf("M%d %d%s", x, y, shapes[l.Shape]) }
