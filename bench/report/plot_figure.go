package report

import (
	"bytes"
	"fmt"
	"image/color"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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

// figure is one plot of the report: panels under a title, with the legend beside them.
type figure struct {
	// kind is the name of its caption, and with the workload's name that of its files, without extension.
	kind, file string
	// beyond are the stacks that go on after the end of the time axis.
	beyond []string
	// title is the workload's question, caption what is shown.
	title, caption string
	// panels by row; nil where there is none. All rows are of the same length.
	panels [][]*plot.Plot
	legend []legendEntry
	height vg.Length
}

// legendEntry is a line or, with a fill, a box.
type legendEntry struct {
	name string
	line draw.LineStyle
	fill color.Color
}

func (e legendEntry) Thumbnail(c *draw.Canvas) {
	if e.fill != nil {
		c.FillPolygon(e.fill, []vg.Point{
			c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y},
		})
		return
	}
	y := c.Center().Y
	c.StrokeLine2(e.line, c.Min.X, y, c.Max.X, y)
}

// save the figure as PNG and SVG into a folder.
func (f figure) save(dir string) error {
	png := vgimg.NewWith(vgimg.UseWH(figureWidth, f.height), vgimg.UseDPI(figureDPI))
	svg := vgsvg.New(figureWidth, f.height)
	f.draw(draw.New(png))
	f.draw(draw.New(svg))
	if err := saveCanvas(filepath.Join(dir, f.file+".png"), vgimg.PngCanvas{Canvas: png}); err != nil {
		return err
	}
	return saveCanvas(filepath.Join(dir, f.file+".svg"), svg)
}

func (f figure) draw(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
	c = draw.Crop(c, figureSpace, -figureSpace, figureSpace, -figureSpace)
	c = heading(c, f.title, styled(14, textColor))
	c = heading(c, f.caption, styled(10, noteColor))
	c = f.drawLegend(c)
	rows, columns := len(f.panels), len(f.panels[0])
	tiles := draw.Tiles{
		Rows: rows, Cols: columns, PadX: vg.Points(18), PadY: vg.Points(10), PadTop: vg.Points(4),
	}
	for i, row := range plot.Align(f.panels, tiles, c) {
		for j, canvas := range row {
			if panel := f.panels[i][j]; panel != nil {
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
	lines := wrap(words, func(line string) bool { return style.Width(line) <= c.Max.X-c.Min.X })
	style.YAlign = draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y}, lines)
	return draw.Crop(c, 0, 0, 0, -style.Height(lines)-vg.Points(8))
}

// drawLegend to the right and return what is left of it.
func (f figure) drawLegend(c draw.Canvas) draw.Canvas {
	if len(f.legend) == 0 {
		return c
	}
	legend := plot.NewLegend()
	legend.Left, legend.Top = true, true
	legend.TextStyle = styled(10, textColor)
	legend.Padding = vg.Points(4)
	legend.YPosition = draw.PosCenter
	legend.ThumbnailWidth = vg.Points(22)
	for _, e := range f.legend {
		legend.Add(e.name, e)
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

// newPanel is a plot in the report's fonts, with a grid.
func newPanel(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	face := styled(10, textColor)
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font, style.Color = face.Font, textColor
	}
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = 9, 9
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = roundTicks(6), roundTicks(6)
	return p
}

// grid of panels in four or five columns, whichever leaves fewer places empty; those are nil.
func grid(panels []*plot.Plot) [][]*plot.Plot {
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
	return write(path, content.Bytes())
}
