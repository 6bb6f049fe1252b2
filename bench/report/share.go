package report

import (
	"cmp"
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// parts of one run by name, such as writes per job by client.
type parts map[string]float64

// breakdown of a stack's amount, for the templates.
type breakdown struct {
	Stack string
	// Runs that say something of it.
	Runs int
	// Total is the median of the runs' totals, at least that where runs were cut; Shares of it are medians, too,
	// so they need not add up.
	Total  stats.Bounds
	Shares []share
}

type share struct {
	Name   string
	Amount float64
}

// breakdowns by stack of what of returns for a run: nil when the run does not say, empty when it says that
// there was none. At most top shares are shown by name.
func (p played) breakdowns(top int, of func(result.Run) parts) []breakdown {
	var all []breakdown
	for _, s := range p.stacks {
		var runs []parts
		var totals []stats.Bounds
		for _, run := range s.runs {
			if got := of(run); got != nil {
				runs = append(runs, got)
				totals = append(totals, got.total(run.CutAfter > 0))
			}
		}
		all = append(all, breakdown{
			Stack: s.Name, Runs: len(runs), Total: stats.Median(totals), Shares: largest(top, shares(runs)),
		})
	}
	return all
}

// says reports whether any run says something of an amount.
func says(all []breakdown) bool {
	return slices.ContainsFunc(all, func(b breakdown) bool { return b.Runs > 0 })
}

// isZero reports whether an amount is 0 on every stack that says something of it.
func isZero(all []breakdown) bool {
	return !slices.ContainsFunc(all, func(b breakdown) bool { return len(b.Shares) > 0 })
}

// total of a run; a run that was cut would have come to more.
func (p parts) total(cut bool) stats.Bounds {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(p)) { // the sum depends on the order
		sum += p[name]
	}
	if cut {
		return stats.AtLeast(sum)
	}
	return stats.Exactly(sum)
}

// shares by name, the largest first. What a run does not name was 0 in it.
func shares(runs []parts) []share {
	names := map[string]bool{}
	for _, run := range runs {
		for name := range run {
			names[name] = true
		}
	}
	var all []share
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var values []stats.Bounds
		for _, run := range runs {
			values = append(values, stats.Exactly(run[name]))
		}
		if median := stats.Median(values).Low; median > 0 {
			all = append(all, share{name, median})
		}
	}
	slices.SortStableFunc(all, func(a, b share) int { return cmp.Compare(b.Amount, a.Amount) })
	return all
}

// others is the name of all that are not among the largest.
const others = "others"

func largest(n int, all []share) []share {
	if len(all) <= n {
		return all
	}
	rest := share{Name: others}
	for _, s := range all[n:] {
		rest.Amount += s.Amount
	}
	return append(slices.Clone(all[:n]), rest)
}

// writesPerJob by client.
func writesPerJob(r result.Run) parts {
	return perJob(r, r.Writes, func(client, _ string) string { return client })
}

// writesInDetail by client, verb and resource.
func writesInDetail(r result.Run) parts {
	return perJob(r, r.Writes, func(client, what string) string { return client + ": " + what })
}

func perJob(r result.Run, writes map[string]map[string]int, name func(client, what string) string) parts {
	n := jobs(r)
	if writes == nil || n == 0 {
		return nil
	}
	by := map[string]int{}
	for client, counts := range writes {
		for what, count := range counts {
			by[name(client, what)] += count
		}
	}
	return scaled(by, 1/n)
}

// idleWrites by client, while the cluster was left alone.
func idleWrites(r result.Run) parts {
	if r.IdleWrites == nil {
		return nil
	}
	by := map[string]int{}
	for client, counts := range r.IdleWrites {
		for _, count := range counts {
			by[client] += count
		}
	}
	return scaled(by, 1)
}

// cpuPerThousand are CPU seconds by program per 1,000 jobs.
func cpuPerThousand(r result.Run) parts {
	if n := jobs(r); n > 0 && r.CPU != nil {
		return scaled(r.CPU, 1000/n)
	}
	return nil
}

// mebibyte has 2^20 bytes.
const mebibyte = 1 << 20

// peakMemory by program in MiB, as measured.
func peakMemory(r result.Run) parts {
	if r.PeakMemory == nil {
		return nil
	}
	return scaled(r.PeakMemory, 1.0/mebibyte)
}

// memoryPerThousand is peak memory by program in MiB per 1,000 jobs.
func memoryPerThousand(r result.Run) parts {
	if n := jobs(r); n > 0 && r.PeakMemory != nil {
		return scaled(r.PeakMemory, 1000/n/mebibyte)
	}
	return nil
}

func scaled[N int | int64 | float64](amounts map[string]N, factor float64) parts {
	p := parts{}
	for name, n := range amounts {
		p[name] = float64(n) * factor
	}
	return p
}
