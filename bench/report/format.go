package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// unknown is shown for what is not known.
const unknown = "-"

// Number with three significant digits, and all digits before the point; whole numbers as they are.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// amount of something that a cut run may have more of.
func amount(b stats.Bounds) string { return described(b, Number) }

// ratio has two digits after the point, and more below a tenth.
func ratio(b stats.Bounds) string { return described(b, times) }

func times(v float64) string {
	if v > 0 && v < 0.1 {
		return Number(v)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// percent of a share from 0 to 1.
func percent(b stats.Bounds) string {
	return described(b, func(v float64) string { return Number(100*v) + "%" })
}

// within is a time in seconds; "not within n" when all that is known is that it is longer.
func within(b stats.Bounds) string {
	if b.Known() && math.IsInf(b.High, 1) {
		return "not within " + Number(b.Low)
	}
	return amount(b)
}

func described(b stats.Bounds, show func(float64) string) string {
	switch {
	case !b.Known():
		return unknown
	case b.Exact():
		return show(b.Low)
	case math.IsInf(b.High, 1):
		return ">" + show(b.Low)
	case b.Low == 0:
		return "<" + show(b.High)
	default:
		return show(b.Low) + " to " + show(b.High)
	}
}

// noiseBand of ratios that are noise.
func noiseBand(n stats.Noise) string {
	return ratio(stats.Bounds{Low: 1 / n.Factor, High: n.Factor})
}

// gib is a number of bytes in GiB; unknown when it is 0.
func gib(bytes int64) string {
	if bytes == 0 {
		return unknown
	}
	return Number(float64(bytes) / (1 << 30))
}

// markdownCell is text in a cell of a Markdown table; unknown when there is none.
func markdownCell(text string) string {
	if text == "" {
		return unknown
	}
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", "", "<", "&lt;").Replace(text)
}

// markdownTable with the first column to the left and the others to the right.
func markdownTable(t table) string {
	var b strings.Builder
	row := func(cells []string) {
		for _, cell := range cells {
			fmt.Fprintf(&b, "| %s ", markdownCell(cell))
		}
		b.WriteString("|\n")
	}
	row(t.Head)
	b.WriteString("|---" + strings.Repeat("|--:", len(t.Head)-1) + "|\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
