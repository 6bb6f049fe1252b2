package report

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

const (
	// shownShares of a total are named in a cell, shownWrites in a row each.
	shownShares = 6
	shownWrites = 8
)

// section is what the report says of one workload.
type section struct {
	result.Workload
	// LeftOut and Changed are rows of a trace.
	LeftOut, Changed []reason
	// Absent are stacks without a run that counts.
	Absent []string
	Failed []result.Run
	Drifts []drift
	Noise  stats.Noise
	// Floor compares stacks with their floor, Shipped those with a configuration of one's own with the same
	// without, and Same and Across ours with peers on the same and on other schedulers.
	Floor, Shipped, Same, Across []comparison
	Tables                       []table
	Dropped                      dropped
	// WritesPerJob by client; Breakdowns holds them, too.
	WritesPerJob []breakdown
	Breakdowns   []titled
	// WritesInDetail is the writes per job once more, by client, verb and resource.
	WritesInDetail []breakdown
	HasWrites      bool
	Plots          []plotRef
}

// reason why some of a trace's jobs were left out, and how many.
type reason struct {
	Name  string
	Count int
	// Line of the trace's first such row, from 1; zero when it is not known.
	Line int
}

// titled breakdowns. Totals of peaks at different times mean nothing and are not shown.
type titled struct {
	Title, Unit string
	HasTotal    bool
	Rows        []breakdown
}

// plotRef is a plot of the section. Its files are plots/File.png and plots/File.svg.
type plotRef struct {
	File, Caption string
}

// reasons in the order of their names.
func reasons(counts, lines map[string]int) []reason {
	var all []reason
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, reason{name, counts[name], lines[name]})
	}
	return all
}

func newSection(p played) section {
	s := section{
		Workload: p.Workload, Absent: p.absent, Failed: p.failed, Drifts: p.drifts, Noise: p.noise,
		Floor: p.withFloor(), Shipped: p.withShipped(),
		WritesPerJob:   p.breakdowns(shownShares, writesPerJob),
		WritesInDetail: p.breakdowns(shownWrites, writesInDetail),
	}
	s.LeftOut, s.Changed = reasons(p.LeftOut, p.FirstLine), reasons(p.Changed, p.FirstLine)
	s.HasWrites = !isZero(s.WritesInDetail)
	s.Same, s.Across = p.withPeers()
	s.Tables, s.Dropped = p.tables()
	for _, t := range []titled{
		{"API writes per job, by client", "writes", true, s.WritesPerJob},
		{"API writes while the cluster is left alone", "writes", true, p.breakdowns(shownShares, idleWrites)},
		{"CPU per 1,000 jobs, by program", "s", true, p.breakdowns(shownShares, cpuPerThousand)},
		{"Peak memory as measured, by program", "MiB", false, p.breakdowns(shownShares, peakMemory)},
		{"Peak memory per 1,000 jobs, by program", "MiB", false, p.breakdowns(shownShares, memoryPerThousand)},
	} {
		switch {
		case !says(t.Rows):
			s.Dropped.Nothing = append(s.Dropped.Nothing, t.Title)
		case isZero(t.Rows):
			s.Dropped.Zero = append(s.Dropped.Zero, t.Title)
		default:
			s.Breakdowns = append(s.Breakdowns, t)
		}
	}
	return s
}
