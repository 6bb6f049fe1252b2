package preempt

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// unknown is shown for what is not known.
const unknown = "-"

// table of Markdown: the first column to the left, the others to the right.
type table struct {
	head []string
	rows [][]string
}

func (t table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	row := func(cells []string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	row(t.head)
	rule := []string{"---"}
	for range t.head[1:] {
		rule = append(rule, "--:")
	}
	row(rule)
	for _, cells := range t.rows {
		row(cells)
	}
	if err := w.Flush(); err != nil {
		panic(err) // a strings.Builder takes all
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Write the main table of a comparison, and what the first way differs by from itself.
func Write(w io.Writer, c sim.Comparison) error {
	_, err := fmt.Fprintf(w, "%s\n\nA/A: %s.\n", Main(c), noise(c))
	return err
}

// Main table of a comparison.
func Main(c sim.Comparison) string {
	t := table{head: []string{
		"victims", "lost work", "95% interval", "all waste", "95% interval", "goodput", "urgent wait longer by",
		"95% interval", "the others take", "preemptions",
	}}
	for i, l := range c.Lines {
		lost := within(l.Lost)
		if i == 0 {
			lost = "1"
		}
		t.rows = append(t.rows, []string{
			l.Way + claim(l, c), lost, interval(l.Lost), within(l.Waste), interval(l.Waste),
			number(l.Goodput.Median, "%.1f%%"), number(l.Delay.Median, "%.1f s"), ends(l.Delay.Interval, "%.1f"),
			within(l.Low), fmt.Sprintf("%.1f", l.Preemptions),
		})
	}
	return t.String()
}

// claim marks a way that is not shown to lose more or less than the first one.
func claim(l sim.Line, c sim.Comparison) string {
	if l.Way == c.Lines[0].Way || l.Lost.N == 0 {
		return ""
	}
	switch l.Lost.Claim(c.Noise) {
	case stats.Faster, stats.Slower:
		return ""
	}
	return " (no difference shown)"
}

// Times table: how long gangs wait, and take.
func Times(c sim.Comparison) string {
	t := table{head: []string{
		"victims", "urgent wait, mean", "p50", "p95", "p99", "longest", "urgent take, mean", "p95",
		"the others take, mean", "p50", "p95",
	}}
	for _, l := range c.Lines {
		high, low := l.Completions[sim.High], l.Completions[sim.Low]
		t.rows = append(t.rows, []string{
			l.Way, seconds(l.Waits.Mean), seconds(l.Waits.P50), seconds(l.Waits.P95), seconds(l.Waits.P99),
			seconds(l.Waits.Max), hours(high.Mean), hours(high.P95), hours(low.Mean), hours(low.P50), hours(low.P95),
		})
	}
	return t.String()
}

// Waste table: what GPU time went into, in percent of all of it.
func Waste(c sim.Comparison) string {
	t := table{head: []string{
		"victims", "goodput", "lost", "restarts", "idle", "preemptions", "asked", "handed over", "until all ended",
	}}
	for _, l := range c.Lines {
		share := func(v float64) string { return fmt.Sprintf("%.2f%%", v) }
		count := func(v float64) string { return fmt.Sprintf("%.1f", v) }
		t.rows = append(t.rows, []string{
			l.Way, number(l.Goodput.Median, "%.1f%%"), share(l.LostShare), share(l.RestartShare), share(l.IdleShare),
			count(l.Preemptions), count(l.Asked), count(l.HandedOver), seconds(l.Asking),
		})
	}
	return t.String()
}

// Sweep table: the planner's two ways, for each value.
func (s Study) Table() string {
	t := table{head: []string{
		strings.ToLower(s.Title[:1]) + s.Title[1:], "cheapest: lost", "95% interval", "all waste", "asked: lost",
		"95% interval", "all waste", "urgent wait longer by", "the others take", "seeds",
	}}
	for _, p := range s.Points {
		cheapest, asked := p.line(sim.CheapestFirst), p.line(sim.AskedToSave)
		t.rows = append(t.rows, []string{
			p.Label, within(cheapest.Lost), interval(cheapest.Lost), within(cheapest.Waste), within(asked.Lost),
			interval(asked.Lost), within(asked.Waste), number(asked.Delay.Median, "%.1f s"), within(asked.Low),
			fmt.Sprint(asked.Lost.N),
		})
	}
	return t.String()
}

// targets as a table.
func targetsTable(all []Target) string {
	t := table{head: []string{"target", "checkpoint every", "at most", "got", "met"}}
	for _, target := range all {
		met := "yes"
		if !target.Met() {
			met = "**no**, by " + target.Missed()
		}
		t.rows = append(t.rows, []string{
			target.What, target.Interval, fmt.Sprintf("%g%s", target.AtMost, target.Unit),
			fmt.Sprintf("%.2f%s", target.Got, target.Unit), met,
		})
	}
	return t.String()
}

func agreementTable(all []sim.Agreement) string {
	t := table{head: []string{
		"scheduler", "preemptions", "the same victims", "their GPUs", "lost steps", "lost in all",
		"lost when they had ended", "medians within 10%",
	}}
	for _, a := range all {
		agrees := "yes"
		if !a.Agrees() {
			agrees = "**no**"
		}
		t.rows = append(t.rows, []string{
			a.Scheduler, fmt.Sprint(a.Situations), fmt.Sprint(a.Same), drawn(a.GPUs), drawn(a.Lost),
			drawn(a.Total), ratio(a.Ended), agrees,
		})
	}
	return t.String()
}

// drawn is a ratio, and where it varies between draws its bounds.
func drawn(r sim.Ratio) string {
	if r.Low == r.High {
		return ratio(r.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", ratio(r.Median), ratio(r.Low), ratio(r.High))
}

// within is the median of ratios.
func within(c stats.Comparison) string {
	if !c.Median.Known() {
		return unknown
	}
	return ratio(c.Median.Low)
}

func interval(c stats.Comparison) string {
	if !c.Interval.Known() {
		return unknown
	}
	return ratio(c.Interval.Low) + " to " + ratio(c.Interval.High)
}

// ratio has two digits after the point, and three where it is small.
func ratio(v float64) string {
	const small = 0.1
	if v > 0 && v < small {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func ends(b stats.Bounds, format string) string {
	if !b.Known() {
		return unknown
	}
	return fmt.Sprintf(format+" to "+format, b.Low, b.High)
}

func number(b stats.Bounds, format string) string {
	if !b.Known() {
		return unknown
	}
	return strings.Replace(fmt.Sprintf(format, b.Low), "-0.0 ", "0.0 ", 1)
}

// noise of a comparison as text.
func noise(c sim.Comparison) string {
	if c.Noise.Pairs == 0 {
		return "the first way lost nothing"
	}
	return fmt.Sprintf("the first way differs from itself by up to %.2f in lost work and %.2f in all waste "+
		"(%d pairs)", c.Noise.Factor, c.WasteNoise.Factor, c.Noise.Pairs)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func hours(d time.Duration) string { return fmt.Sprintf("%.2f h", d.Hours()) }
