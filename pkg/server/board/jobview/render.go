package jobview

import (
	"embed"
	"html/template"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

//go:embed templates
var files embed.FS

// pages are the templates of the sections.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"machine": machine, "moment": moment, "seconds": seconds,
	"number": func(n int32) string { return number(int64(n)) },
	"count":  func(n int, thing string) string { return count(n, thing) }, "percent": percent,
	"count32": count[int32], "odd": func(i int) bool { return i%2 == 1 },
	"lane": laneTop, "height": laneHeight, "phaseClass": PhaseClass, "phase": phase, "bar": barOf, "add": add,
	"margin": func() float64 { return laneMargin }, "inside": func() float64 { return 100 - laneMargin - edge },
	"inner":       func(at float64) float64 { return within(at, laneMargin) },
	"curveMargin": func() float64 { return curveMargin }, "anchor": anchor, "key": key,
	"curveInside": func() float64 { return 100 - curveMargin - edge },
	"curveInner":  func(at float64) float64 { return within(at, curveMargin) },
	"last":        func(rows []CurveRow) CurveRow { return rows[len(rows)-1] },
}).ParseFS(files, "templates/*.html"))

// machine is a time for the attribute datetime.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// percent of a chart, for attributes of SVG.
func percent(v float64) string { return decimal100(v) + "%" }

func phase(p v1alpha1.Phase) string { return known(string(p)) }

// Margins of charts in percent of their width: left for labels, and at the right edge.
const (
	laneMargin  = 8
	curveMargin = 13
	edge        = 1
)

// within is a position in a chart with margins.
func within(at, margin float64) float64 { return margin + at*(100-margin-edge)/100 }

// anchor of a label, so that it stays inside the chart.
func anchor(at float64) string {
	switch {
	case at < 6:
		return "start"
	case at > 94:
		return "end"
	}
	return "middle"
}

// key is the offset of a bar in a legend's square.
func key(high float64) float64 { return (20 - high) / 2 }

func add(a, b float64) float64 { return a + b }

// Size of the lanes of attempts, in pixels. Charts fill the width and keep their height.
const (
	laneSize = 24
	laneHead = 4
	laneFoot = 22
)

// laneTop is the top of a lane.
func laneTop(i int) float64 { return float64(laneHead + i*laneSize) }

// laneHeight of a chart with a number of lanes and its axis.
func laneHeight(lanes int) int { return laneHead + lanes*laneSize + laneFoot }

// barShape is the position of a bar in its lane: the more the gang does, the higher.
type barShape struct{ Down, High float64 }

func barOf(k Kind) barShape {
	high := map[Kind]float64{Waiting: 4, Backoff: 4, Suspended: 2, Starting: 9, Running: 16, Draining: 9}[k]
	return barShape{(laneSize - high) / 2, high}
}
