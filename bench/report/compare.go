package report

import (
	"math"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// comparison of a stack with a base, for the templates.
type comparison struct {
	stats.Comparison
	Stack, Base string
	// Title of the stack, for people.
	Title string
	// IsFloor is true for the row of a raw stack, which has no base.
	IsFloor bool
	// Runs of the stack that count, and the median of their times in seconds.
	Runs    int
	Seconds stats.Bounds
	// CutAfter is the largest bound in seconds that cut a run of the stack; 0 when none was cut.
	CutAfter float64
	// Paired is the number of rounds that have both, whether or not they have a ratio.
	Paired int
	Claim  stats.Claim
}

// IsAtLeast and IsAtMost report whether only one bound of the median is known.
func (c comparison) IsAtLeast() bool { return c.N > 0 && math.IsInf(c.Median.High, 1) }
func (c comparison) IsAtMost() bool  { return c.N > 0 && c.Median.Low == 0 && !c.Median.Exact() }

// withFloor compares every stack with its floor. A round in which the floor was cut has no ratio.
func (p played) withFloor() []comparison {
	var all []comparison
	for _, s := range p.stacks {
		floor := p.stack(s.Floor).runs
		c := p.compare(s, stackRuns{Stack: result.Stack{Name: s.Floor}, runs: ended(floor)})
		c.Paired = len(ratios(s.runs, floor))
		if s.Name == s.Floor {
			c.IsFloor, c.Paired, c.Comparison, c.Claim = true, 0, stats.Compare(nil), stats.NoRatio
		}
		all = append(all, c)
	}
	return all
}

// ClaimOf is what is shown of a stack against its floor in a workload; NoRatio where either has no runs.
func ClaimOf(r result.Results, workload, stack string) stats.Claim {
	for _, p := range playedOf(r) {
		if p.Name != workload {
			continue
		}
		for _, c := range p.withFloor() {
			if c.Stack == stack {
				return c.Claim
			}
		}
	}
	return stats.NoRatio
}

// withPeers compares ours with every stack that is neither ours nor raw: on the same floor, then across. Of
// several configurations of a scheduler, like is compared with like.
func (p played) withPeers() (same, across []comparison) {
	for _, ours := range p.stacks {
		for _, peer := range p.stacks {
			switch {
			case !ours.Ours || peer.Ours || peer.Shipped() == peer.Floor:
			case ours.Floor == peer.Floor && ours.Configuration != peer.Configuration:
			case ours.Floor == peer.Floor:
				same = append(same, p.compare(ours, peer))
			default:
				across = append(across, p.compare(ours, peer))
			}
		}
	}
	return same, across
}

// withShipped compares every stack with a configuration of one's own with the same stack without.
func (p played) withShipped() []comparison {
	var all []comparison
	for _, s := range p.stacks {
		if s.Configuration != "" {
			shipped := p.stack(s.Shipped())
			shipped.Name = s.Shipped() // also where it has no runs
			all = append(all, p.compare(s, shipped))
		}
	}
	return all
}

func (p played) compare(s, base stackRuns) comparison {
	pairs := ratios(s.runs, base.runs)
	c := comparison{
		Comparison: stats.Compare(pairs), Stack: s.Name, Title: s.Title, Base: base.Name,
		Runs: len(s.runs), Seconds: s.over(p.Workload, untilEnd), Paired: len(pairs),
	}
	for _, run := range s.runs {
		c.CutAfter = max(c.CutAfter, run.CutAfter)
	}
	c.Claim = c.Comparison.Claim(p.noise)
	return c
}

func ended(runs []result.Run) []result.Run {
	var whole []result.Run
	for _, run := range runs {
		if run.CutAfter == 0 {
			whole = append(whole, run)
		}
	}
	return whole
}
