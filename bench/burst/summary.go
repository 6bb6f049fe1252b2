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

// summary of a benchmark run. Seconds depend on the machine; the ratios of the pairs can be compared between
// machines.
type summary struct {
	Gangs, Ranks, Nodes int
	Schedulers          []schedulerSummary
}

// schedulerSummary holds the runs on one scheduler and what follows from them.
type schedulerSummary struct {
	Scheduler string
	Runs      []run
	// Ratios of the operator's time to the raw client's, by pair, and their median.
	Ratios []float64
	Median float64
	// WritesPerGang by way: the median over its runs.
	WritesPerGang map[string]float64
}

func newSummary(o options) *summary { return &summary{Gangs: o.gangs, Ranks: o.ranks, Nodes: o.nodes} }

func (s *summary) add(scheduler string, runs []run) {
	of := schedulerSummary{Scheduler: scheduler, Runs: runs, WritesPerGang: map[string]float64{}}
	for i := 0; i+1 < len(runs); i += 2 {
		of.Ratios = append(of.Ratios, runs[i].Seconds/runs[i+1].Seconds)
	}
	of.Median = median(of.Ratios)
	for _, way := range []string{"operator", "raw"} {
		var perGang []float64
		for _, run := range runs {
			if run.Way == way {
				perGang = append(perGang, float64(run.Writes[way].Total())/float64(s.Gangs))
			}
		}
		of.WritesPerGang[way] = median(perGang)
	}
	s.Schedulers = append(s.Schedulers, of)
}

func (s *summary) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d gangs x %d ranks at once on %d nodes of 8 GPUs, until every rank runs\n\n", s.Gangs,
		s.Ranks, s.Nodes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCHEDULER\tOPERATOR\tRAW\tRATIO (median)\tWRITES/GANG\tRAW")
	for _, of := range s.Schedulers {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.1f\t%.1f\n", of.Scheduler,
			seconds(of.Runs, "operator"), seconds(of.Runs, "raw"),
			of.Median, of.WritesPerGang["operator"], of.WritesPerGang["raw"])
	}
	t.Flush() //nolint:errcheck // the terminal may be gone
	for _, of := range s.Schedulers {
		fmt.Fprintf(w, "\nWrites and CPU by client on %s, last pair:\n", of.Scheduler)
		for _, run := range of.Runs[max(0, len(of.Runs)-2):] {
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

func (s *summary) save(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the summary: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("making the folder for results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "burst.json"), text, 0o600); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
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
