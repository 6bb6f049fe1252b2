package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
)

// report is what a burst has shown. Seconds are this machine's; the ratio, pair by pair, is what compares.
type report struct {
	Gangs, Ranks, Nodes int
	Schedulers          []result
}

type result struct {
	Scheduler string
	Runs      []run
	// Ratio of the operator's time to raw's, by pair, and its median.
	Ratios []float64
	Median float64
	// WritesPerGang of each client: the median over its runs.
	WritesPerGang map[string]float64
}

func newReport(o options) *report { return &report{Gangs: o.gangs, Ranks: o.ranks, Nodes: o.nodes} }

func (r *report) add(scheduler string, runs []run) {
	res := result{Scheduler: scheduler, Runs: runs, WritesPerGang: map[string]float64{}}
	for i := 0; i+1 < len(runs); i += 2 {
		res.Ratios = append(res.Ratios, runs[i].Seconds/runs[i+1].Seconds)
	}
	res.Median = median(res.Ratios)
	for _, way := range []string{"operator", "raw"} {
		var perGang []float64
		for _, run := range runs {
			if run.Way == way {
				perGang = append(perGang, float64(run.Writes[way].Total())/float64(r.Gangs))
			}
		}
		res.WritesPerGang[way] = median(perGang)
	}
	r.Schedulers = append(r.Schedulers, res)
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d gangs x %d ranks at once on %d nodes of 8 GPUs, until every rank runs\n\n", r.Gangs, r.Ranks, r.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCHEDULER\tOPERATOR\tRAW\tRATIO (median)\tWRITES/GANG\tRAW")
	for _, s := range r.Schedulers {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.1f\t%.1f\n", s.Scheduler, seconds(s.Runs, "operator"), seconds(s.Runs, "raw"),
			s.Median, s.WritesPerGang["operator"], s.WritesPerGang["raw"])
	}
	t.Flush() //nolint:errcheck // a terminal that is gone
	for _, s := range r.Schedulers {
		fmt.Fprintf(w, "\nWrites and CPU by client on %s, last pair:\n", s.Scheduler)
		for _, run := range s.Runs[max(0, len(s.Runs)-2):] {
			fmt.Fprintf(w, "  %-9s CPU seconds: %s\n", run.Way, describeCPU(run.CPU))
			for _, agent := range slices.Sorted(maps.Keys(run.Writes)) {
				fmt.Fprintf(w, "  %-9s %-26s %s\n", run.Way, agent, describe(run.Writes[agent]))
			}
		}
	}
}

func seconds(runs []run, way string) string {
	var s []string
	for _, r := range runs {
		if r.Way == way {
			s = append(s, fmt.Sprintf("%.1f", r.Seconds))
		}
	}
	return strings.Join(s, " ") + " s"
}

func describe(w measure.Writes) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(w)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, w[what]))
	}
	return fmt.Sprintf("%d: %s", w.Total(), strings.Join(parts, ", "))
}

func describeCPU(used map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	var sum float64
	for i, name := range names {
		sum += used[name]
		names[i] = fmt.Sprintf("%s %.1f", name, used[name])
	}
	return fmt.Sprintf("%.1f: %s", sum, strings.Join(names, ", "))
}

func (r *report) save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("making the results' folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "burst.json"), text, 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
