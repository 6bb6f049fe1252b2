package jobview

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Size of a curve, in its own units: it is stretched to the available width.
const (
	curveWidth  = 1000
	curveHeight = 140
)

// Curves of the metrics that a job's trainer reported.
type Curves struct {
	By     Axis
	Curves []Curve
	// Others are the names of metrics beyond the limit.
	Others []string
	// Links to the same page with another x-axis; empty: none.
	ByStep, ByTime string
}

// Curve is a chart of one metric.
type Curve struct {
	// ID is unique in the page.
	ID, Name string
	// XAxis is the name of the x-axis.
	XAxis          string
	XTicks, YTicks []Tick
	Lines          []Line
	// Marks are checkpoints and the beginnings of resumed attempts.
	Marks []Mark
	Rows  []CurveRow
	// Alternative is the chart's text alternative.
	Alternative string
	// Strange is the number of values that were NaN or infinite.
	Strange int
}

// Line of one attempt, or of its lost part.
type Line struct {
	Attempt int32
	// Lost reports whether the steps had to be trained again.
	Lost bool
	// Dot reports whether it is a single point.
	Dot bool
	// Path is the attribute d of a path, in the drawing's own units.
	Path  string
	Title string
}

// CurveRow is the values of one attempt, in words.
type CurveRow struct {
	Attempt                   int32
	Steps                     string
	First, Last, Lowest, Most string
	Strange                   int
}

func curvesOf(in *Input) Curves {
	c := Curves{By: ByStep}
	if in.By == ByTime {
		c.By = ByTime
	}
	if in.Links.Page != "" {
		c.ByStep, c.ByTime = in.Links.Page+"?x=step", in.Links.Page+"?x=time"
	}
	for i, m := range metricsOf(in.Samples) {
		if len(c.Curves) == maxCurves {
			c.Others = append(c.Others, m.name)
			continue
		}
		c.Curves = append(c.Curves, curveOf(in, &m, c.By, "job-curve-"+strconv.Itoa(i)))
	}
	return c
}

// frame maps the points of a curve to the drawing.
type frame struct {
	by   Axis
	y    scale
	step scale
	time timescale
}

func (f *frame) x(p point) float64 {
	if f.by == ByTime {
		return f.time.at(p.time)
	}
	return f.step.at(float64(p.step))
}

func curveOf(in *Input, m *metric, by Axis, id string) Curve {
	c := Curve{ID: id, Name: m.name, XAxis: "step"}
	f := frameOf(m, by)
	for _, s := range m.series {
		c.Strange += len(s.strange)
		c.Lines = append(c.Lines, linesOf(in, &s, f)...)
		c.Rows = append(c.Rows, rowOf(&s))
	}
	if f == nil { // no value is a finite number
		c.Alternative = m.name + ": no value is a finite number."
		return c
	}
	c.YTicks, c.XTicks = f.y.ticks(false), f.step.ticks(true)
	for i := range c.YTicks {
		c.YTicks[i].At = 100 - c.YTicks[i].At
	}
	if by == ByTime {
		c.XTicks, c.XAxis = f.time.ticks(), "time, "+f.time.days()
	}
	c.Marks = curveMarks(in, m, f)
	c.Alternative = alternative(m, &c)
	return c
}

// frameOf all finite points; nil if there is none.
func frameOf(m *metric, by Axis) *frame {
	var all []point
	for _, s := range m.series {
		all = append(all, s.points...)
	}
	if len(all) == 0 {
		return nil
	}
	low, high, first, last := all[0].y, all[0].y, all[0].step, all[0].step
	from, to := all[0].time, all[0].time
	for _, p := range all {
		low, high, first, last = min(low, p.y), max(high, p.y), min(first, p.step), max(last, p.step)
		if p.time.Before(from) {
			from = p.time
		}
		if p.time.After(to) {
			to = p.time
		}
	}
	return &frame{
		by: by, y: scaleOf(low, high, 0.06), step: scaleOf(float64(first), float64(last), 0),
		time: timescaleOf(from, to),
	}
}

// linesOf an attempt: up to the step from which the next one resumed, and after it, if that is known.
func linesOf(in *Input, s *series, f *frame) []Line {
	if len(s.points) == 0 {
		return nil
	}
	who := "attempt " + number(int64(s.attempt))
	kept := len(s.points)
	if resumed, known := resumedBehind(in, s.attempt); known {
		kept = 0
		for kept < len(s.points) && s.points[kept].step <= resumed {
			kept++
		}
	}
	var lines []Line
	if kept > 0 {
		lines = append(lines, Line{
			Attempt: s.attempt, Dot: kept == 1, Path: path(s, s.points[:kept], f), Title: who,
		})
	}
	if kept < len(s.points) {
		lost := s.points[max(0, kept-1):]
		lines = append(lines, Line{
			Attempt: s.attempt, Lost: true, Dot: len(lost) == 1, Path: path(s, lost, f),
			Title: who + ", steps that had to be trained again",
		})
	}
	return lines
}

// resumedBehind returns the step from which the next attempt resumed.
func resumedBehind(in *Input, attempt int32) (int64, bool) {
	for _, a := range in.Record.Attempts {
		if a.Number == attempt+1 && a.Seen {
			if a.ResumedFrom == nil {
				return 0, true // it started from the beginning
			}
			return a.ResumedFrom.Step, true
		}
	}
	return 0, false
}

// path through points, interrupted at values that cannot be drawn. A single point is a dot, by the round ends
// of the line.
func path(s *series, points []point, f *frame) string {
	var b strings.Builder
	pen, strange := false, s.strange
	for _, run := range thinned(points, f) {
		for len(strange) > 0 && strange[0].step < run.step {
			if strange[0].step > points[0].step {
				pen = false
			}
			strange = strange[1:]
		}
		command := "L"
		if !pen {
			command = "M"
		}
		x, y := f.x(run)*curveWidth/100, curveHeight-f.y.at(run.y)*curveHeight/100
		b.WriteString(command + decimal(x) + " " + decimal(y))
		if !pen {
			b.WriteString("h0")
		}
		pen = true
	}
	return b.String()
}

// decimal with at most one digit after the point.
func decimal(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// decimal100 has at most two digits after the point.
func decimal100(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100+0, 'f', -1, 64)
}

// thinned keeps the first, lowest, highest and last point of each column of two units, so that no peak is
// lost.
func thinned(points []point, f *frame) []point {
	if len(points) <= curveWidth {
		return points
	}
	column := func(p point) int { return int(f.x(p) * curveWidth / 200) }
	var kept []point
	for len(points) > 0 {
		n := 1
		for n < len(points) && column(points[n]) == column(points[0]) {
			n++
		}
		low, high := 0, 0
		for i := range n {
			if points[i].y < points[low].y {
				low = i
			}
			if points[i].y > points[high].y {
				high = i
			}
		}
		chosen := []int{0, low, high, n - 1}
		slices.Sort(chosen)
		for _, i := range slices.Compact(chosen) {
			kept = append(kept, points[i])
		}
		points = points[n:]
	}
	return kept
}

// curveMarks are the checkpoints in the frame, and the beginnings of later attempts.
func curveMarks(in *Input, m *metric, f *frame) []Mark {
	var marks []Mark
	for _, c := range in.Record.Checkpoints {
		at, ok := f.place(c.Step, c.Time)
		if ok {
			marks = append(marks, Mark{Saved, at, "checkpoint of step " + number(c.Step)})
		}
	}
	for i, s := range m.series {
		if i == 0 {
			continue
		}
		title := "attempt " + number(int64(s.attempt)) + " began at an " + unknown + " step"
		var step *int64
		var when *time.Time
		for _, a := range in.Record.Attempts {
			if a.Number == s.attempt {
				when = a.Started
				if a.Seen {
					title = "attempt " + number(int64(s.attempt)) + " resumed: " + resumedText(&a)
					step = resumedStep(&a)
				}
			}
		}
		var at float64
		ok := false
		if f.by == ByTime || step != nil {
			n := int64(0)
			if step != nil {
				n = *step
			}
			at, ok = f.place(n, when)
		}
		if ok {
			marks = append(marks, Mark{Resumed, at, title})
		}
	}
	return marks
}

func resumedStep(a *history.Attempt) *int64 {
	if a.ResumedFrom == nil {
		return nil
	}
	return &a.ResumedFrom.Step
}

// place of a step or a time in the frame; false if it is outside, or unknown.
func (f *frame) place(step int64, at *time.Time) (float64, bool) {
	if f.by == ByTime {
		if at == nil || !f.time.contains(*at) {
			return 0, false
		}
		return f.time.at(*at), true
	}
	x := f.step.at(float64(step))
	return x, x >= 0 && x <= 100
}

func rowOf(s *series) CurveRow {
	r := CurveRow{Attempt: s.attempt, Steps: unknown, Strange: len(s.strange)}
	if len(s.points) == 0 {
		return r
	}
	first, last := s.points[0], s.points[len(s.points)-1]
	low, high := first.y, first.y
	for _, p := range s.points {
		low, high = min(low, p.y), max(high, p.y)
	}
	r.Steps = number(first.step) + " to " + number(last.step)
	r.First, r.Last, r.Lowest, r.Most = value(first.y), value(last.y), value(low), value(high)
	return r
}

// value with four significant digits, or as an integer if that has more.
func value(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e12 {
		return number(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func alternative(m *metric, c *Curve) string {
	var points int
	for _, s := range m.series {
		points += len(s.points)
	}
	first, last := c.Rows[0], c.Rows[len(c.Rows)-1]
	text := m.name + " by " + c.XAxis + ": " + count(points, "value") + " of " +
		count(len(m.series), "attempt") + ", at first " + known(first.First) + ", at last " + known(last.Last) + "."
	if c.Strange > 0 {
		text += " " + count(c.Strange, "value") + " cannot be drawn: NaN or infinite."
	}
	return text
}
