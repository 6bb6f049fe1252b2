package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	figureWidth = 11 * vg.Inch
	// figureDPI makes a PNG 1,320 pixels wide.
	figureDPI   = 120
	figureSpace = vg.Length(12)
)

// Figure is one plot of a report: panels under a title, with the legend next to them.
type Figure struct {
	// File is the name of its files, without extension.
	File string
	// Title is the question that it answers, Caption what is shown.
	Title, Caption string
	// Panels by row; nil where there is none. All rows are of the same length.
	Panels [][]*plot.Plot
	Legend []Entry
	Height vg.Length
}

// Entry of a legend: a line or, with a fill, a box.
type Entry struct {
	Name string
	Line draw.LineStyle
	Fill color.Color
}

// Thumbnail implements plot.Thumbnailer.
func (e Entry) Thumbnail(c *draw.Canvas) {
	if e.Fill != nil {
		c.FillPolygon(e.Fill, []vg.Point{
			c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y},
		})
		return
	}
	y := c.Center().Y
	c.StrokeLine2(e.Line, c.Min.X, y, c.Max.X, y)
}

// Save the figure as PNG and SVG into a folder.
func (f Figure) Save(dir string) error {
	png := vgimg.NewWith(vgimg.UseWH(figureWidth, f.Height), vgimg.UseDPI(figureDPI))
	svg := vgsvg.New(figureWidth, f.Height)
	f.draw(draw.New(png))
	f.draw(draw.New(svg))
	if err := saveCanvas(filepath.Join(dir, f.File+".png"), vgimg.PngCanvas{Canvas: png}); err != nil {
		return err
	}
	return saveCanvas(filepath.Join(dir, f.File+".svg"), svg)
}

func (f Figure) draw(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
	c = draw.Crop(c, figureSpace, -figureSpace, figureSpace, -figureSpace)
	c = heading(c, f.Title, styled(14, Ink))
	c = heading(c, f.Caption, styled(10, noteColor))
	c = f.drawLegend(c)
	if len(f.Panels) == 0 {
		return
	}
	rows, columns := len(f.Panels), len(f.Panels[0])
	tiles := draw.Tiles{
		Rows: rows, Cols: columns, PadX: vg.Points(18), PadY: vg.Points(10), PadTop: vg.Points(4),
	}
	for i, row := range plot.Align(f.Panels, tiles, c) {
		for j, canvas := range row {
			if panel := f.Panels[i][j]; panel != nil {
				panel.Draw(canvas)
			}
		}
	}
}

// heading draws text in as many lines as it takes and returns what is left below it.
func heading(c draw.Canvas, words string, style text.Style) draw.Canvas {
	if words == "" {
		return c
	}
	lines := Wrap(words, func(line string) bool { return style.Width(line) <= c.Max.X-c.Min.X })
	style.YAlign = draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, lines)
	return draw.Crop(c, 0, 0, 0, -style.Height(lines)-vg.Points(8))
}

// drawLegend to the right and return what is left of it.
func (f Figure) drawLegend(c draw.Canvas) draw.Canvas {
	if len(f.Legend) == 0 {
		return c
	}
	legend := plot.NewLegend()
	legend.Left, legend.Top = true, true
	legend.TextStyle = styled(10, Ink)
	legend.Padding = vg.Points(4)
	legend.YPosition = draw.PosCenter
	legend.ThumbnailWidth = vg.Points(22)
	for _, e := range f.Legend {
		legend.Add(e.Name, e)
	}
	r := legend.Rectangle(c)
	width := r.Max.X - r.Min.X + vg.Points(8)
	legend.Draw(draw.Crop(c, c.Max.X-c.Min.X-width, 0, 0, -vg.Points(10)))
	return draw.Crop(c, 0, -width-vg.Points(10), 0, 0)
}

func styled(size font.Length, ink color.Color) text.Style {
	return text.Style{
		Color: ink, Handler: plot.DefaultTextHandler,
		Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
	}
}

// NewPanel is a plot in the report's fonts, with a grid.
func NewPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	face := styled(10, Ink)
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font, style.Color = face.Font, Ink
	}
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = 9, 9
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = RoundTicks(6), RoundTicks(6)
	return p
}

// Grid of panels in four or five columns, whichever leaves fewer places empty; those are nil.
func Grid(panels []*plot.Plot) [][]*plot.Plot {
	columns := 4
	if n := len(panels); n < columns || (5-n%5)%5 < (4-n%4)%4 {
		columns = min(n, 5)
	}
	var rows [][]*plot.Plot
	for row := range slices.Chunk(panels, columns) {
		full := make([]*plot.Plot, columns)
		copy(full, row)
		rows = append(rows, full)
	}
	return rows
}

func saveCanvas(path string, canvas vg.CanvasWriterTo) error {
	var content bytes.Buffer
	if _, err := canvas.WriteTo(&content); err != nil {
		return fmt.Errorf("drawing %s: %w", filepath.Base(path), err)
	}
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		return fmt.Errorf("writing a plot: %w", err)
	}
	return nil
}

// Wrap text at words to lines that fit; a word that does not fit has a line of its own.
func Wrap(text string, fits func(line string) bool) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case !fits(line + " " + word):
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// BackGrid is a grid of lines behind what a panel shows.
func BackGrid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = GridColor, GridColor
	return g
}
