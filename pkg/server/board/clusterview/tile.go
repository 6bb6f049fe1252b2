package clusterview

import (
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

const (
	// perRow cells of a node's drawing.
	perRow = 8
	// maxCells that are drawn individually. Nodes with more GPUs, such as slices, are drawn as bars.
	maxCells = 32
	// barRows is the height of such a bar, in cells.
	barRows = 2
	// manyNodes are drawn small, without names, from this number on; up to fewNodes they are large.
	manyNodes = 200
	fewNodes  = 48
)

// tile is a node in the map.
type tile struct {
	ID, Name, Href, Title string
	// Class has "dense" for many nodes, "large" for few, and "off" if the highlighted gang is not on the
	// node.
	Class         string
	Current       bool
	Width, Height int
	Paths         []path
	// Mark reports whether there are reasons why GPUs are unusable.
	Mark bool
}

// path draws the GPUs of one holder.
type path struct{ Class, D string }

// tileID of a node: names of Kubernetes are valid ids.
func tileID(n *placement.NodeUse) string { return "node-" + n.Name }

// sizeClass of tiles for a number of nodes.
func sizeClass(nodes int) string {
	switch {
	case nodes > manyNodes:
		return "node dense"
	case nodes <= fewNodes:
		return "node large"
	}
	return "node"
}

func (v *View) tile(n *placement.NodeUse, gang int, asked bool) tile {
	t := tile{
		ID: tileID(n), Name: n.Name, Href: v.Query.at(n.Name).URL(), Title: v.describe(n),
		Class: sizeClass(v.Map.Totals.Nodes), Current: v.Query.Node == n.Name, Mark: len(n.Reasons) > 0,
	}
	if asked && !n.Has(gang) {
		t.Class += " off"
	}
	t.draw(v.parts(n, gang, asked))
	return t
}

// part of a node's GPUs, of one holder.
type part struct {
	class string
	// look of a gang; nil for other GPUs.
	look  *palette.Look
	plain string // their shape
	gpus  int64
}

// Shapes of cells without a gang.
const (
	squareOutline = "m1.5 1.5h7v7h-7z"
	smallSquare   = "m2.5 2.5h5v5h-5z"
	cross         = "m2.5 2.5l5 5m0-5l-5 5"
	dot           = "m4 5a1 1 0 1 0 2 0a1 1 0 1 0-2 0z"
)

// parts of a node's GPUs in drawing order. If its GPUs are unknown, each gang on it has one.
func (v *View) parts(n *placement.NodeUse, gang int, asked bool) []part {
	if !v.Map.HoldersKnown {
		return []part{{class: "unknown", plain: dot, gpus: n.GPUs}}
	}
	var all []part
	for _, h := range n.Holders {
		p := part{class: "other", plain: smallSquare, gpus: h.GPUs}
		if h.Gang >= 0 {
			look := palette.Of(string(v.Map.Gangs[h.Gang].UID))
			p.look, p.class = &look, look.Class()
		}
		if !v.Map.NodesKnown {
			p.gpus = 1
		}
		if asked && h.Gang != gang {
			p.class += " off"
		}
		all = append(all, p)
	}
	return append(all, part{class: "free", plain: squareOutline, gpus: n.Free},
		part{class: "unusable", plain: cross, gpus: n.Unusable})
}

// draw the parts.
func (t *tile) draw(parts []part) {
	var sum int64
	for _, p := range parts {
		sum += p.gpus
	}
	t.Width = perRow * palette.Size
	if sum > maxCells {
		t.drawBar(parts, sum)
		return
	}
	rows := max(1, (int(sum)+perRow-1)/perRow)
	t.Height = rows * palette.Size
	at := 0
	for _, p := range parts {
		var d strings.Builder
		for range p.gpus {
			x, y := at%perRow*palette.Size, at/perRow*palette.Size
			if p.look != nil {
				d.WriteString(p.look.Cell(x, y))
			} else {
				fmt.Fprintf(&d, "M%d %d%s", x, y, p.plain)
			}
			at++
		}
		if d.Len() > 0 {
			t.Paths = append(t.Paths, path{p.class, d.String()})
		}
	}
}

// drawBar draws parts in proportion, with a minimum width.
func (t *tile) drawBar(parts []part, sum int64) {
	t.Height = barRows * palette.Size
	var before int64
	for _, p := range parts {
		if p.gpus == 0 {
			continue
		}
		from := float64(before) / float64(sum) * float64(t.Width)
		width := max(0.75, float64(p.gpus)/float64(sum)*float64(t.Width)-0.5)
		before += p.gpus
		t.Paths = append(t.Paths, path{p.class + " solid",
			fmt.Sprintf("M%.2f .5h%.2fv%dh-%.2fz", from, width, t.Height-1, width)})
	}
}
