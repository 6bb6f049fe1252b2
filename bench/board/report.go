package board

import (
	"fmt"
	"io"
	"time"
)

// Print writes the results as a Markdown table. The cost of the page without changes is subtracted.
func Print(out io.Writer, results []Result) error {
	fmt.Fprint(out, "| Page | changes at once | shown by | bytes | touched | main thread | blocked "+
		"| frames over 50 ms | longest | nodes beyond a new page's |\n"+
		"|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	var still Result
	for _, r := range results {
		if r.How == Still {
			still = r
		}
		n := int64(max(1, r.Updates))
		each := func(d time.Duration) string { return milliseconds(d / time.Duration(n)) }
		work := "-" // too small to measure
		if w := r.work(still); w > 0 {
			work = each(w) + " ms"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s ms | %d of %d | %s ms | %d |\n",
			r.Page.Name, r.Load.Name, r.How, thousands(r.Bytes/n), thousands(r.Touched/n), work,
			each(r.Blocked), r.LongFrames, r.Frames, milliseconds(r.Longest), r.After.Nodes-r.Fresh.Nodes)
	}
	fmt.Fprintln(out)
	return printRatios(out, results)
}

// work of the main thread beyond that of the same page without changes in the same time.
func (r *Result) work(still Result) time.Duration {
	if r.How == Still || still.Elapsed == 0 {
		return r.Cost.Task
	}
	idle := float64(still.Cost.Task) * float64(r.Elapsed) / float64(still.Elapsed)
	return max(0, r.Cost.Task-time.Duration(idle))
}

// printRatios writes, for each page, the ratio of the board to a page that reloads itself, under the same
// load.
func printRatios(out io.Writer, results []Result) error {
	fmt.Fprint(out, "| Page | changes at once | bytes | touched | main thread |\n|---|---|--:|--:|--:|\n")
	var still, live Result
	for _, r := range results {
		switch r.How {
		case Still:
			still = r
		case Live:
			live = r
		case Reload:
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", r.Page.Name, r.Load.Name,
				ratio(float64(live.Bytes), float64(r.Bytes)), ratio(float64(live.Touched), float64(r.Touched)),
				ratio(float64(live.work(still)), float64(r.work(still))))
		}
	}
	_, err := fmt.Fprintln(out)
	return err
}

func ratio(of, to float64) string {
	if to == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2g", of/to)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond))
}

// thousands are separated.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}
