package report

import (
	"cmp"
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// played is what counts of one workload.
type played struct {
	result.Workload
	// stacks with runs that count, in the order of the results.
	stacks []stackRuns
	// absent are the names of the others.
	absent []string
	// failed are runs that could not be played.
	failed []result.Run
	// drifts by floor, in the order of the results.
	drifts []drift
	// noise of the stacks that were run twice.
	noise stats.Noise
}

// stackRuns of one stack in one workload, by round.
type stackRuns struct {
	result.Stack
	// runs are compared, repeats are second runs in the same round.
	runs, repeats []result.Run
}

// drift of a raw stack.
type drift struct {
	Floor string
	// Rounds that are thrown away, and Runs that are thrown away with them.
	Rounds []int
	Runs   int
}

// playedOf every workload, in their order.
func playedOf(r result.Results) []played {
	var all []played
	for _, w := range r.Workloads {
		all = append(all, playedIn(r, w))
	}
	return all
}

func playedIn(r result.Results, w result.Workload) played {
	p := played{Workload: w}
	runs := map[string][]result.Run{}
	for _, run := range r.Runs {
		switch {
		case run.Workload != w.Name:
		case run.Error != "":
			p.failed = append(p.failed, run)
		default:
			runs[run.Stack] = append(runs[run.Stack], run)
		}
	}
	thrown := map[string]*drift{}
	times := rawTimes(r)
	for _, s := range r.Stacks {
		d, ok := thrown[s.Floor]
		if !ok {
			d = &drift{Floor: s.Floor, Rounds: stats.Drifted(times[s.Floor]...)}
			thrown[s.Floor] = d
		}
		of := stackRuns{Stack: s}
		for _, run := range runs[s.Name] {
			switch {
			case slices.Contains(d.Rounds, run.Round):
				d.Runs++
			case run.Repeat > 0:
				of.repeats = append(of.repeats, run)
			default:
				of.runs = append(of.runs, run)
			}
		}
		byRound := func(a, b result.Run) int { return cmp.Compare(a.Round, b.Round) }
		slices.SortStableFunc(of.runs, byRound)
		if len(of.runs) == 0 {
			p.absent = append(p.absent, s.Name)
			continue
		}
		p.stacks = append(p.stacks, of)
		p.noise = stats.Widest(p.noise, stats.NoiseFloor(ratios(of.repeats, of.runs)))
	}
	p.drifts = drifts(r.Stacks, thrown)
	return p
}

// rawTimes by stack, and for each workload by round. What could not be played has none.
func rawTimes(r result.Results) map[string][]map[int]stats.Bounds {
	times := map[string][]map[int]stats.Bounds{}
	for _, w := range r.Workloads {
		of := map[string]map[int]stats.Bounds{}
		for _, run := range r.Runs {
			if run.Workload != w.Name || run.Error != "" || run.Repeat > 0 {
				continue
			}
			if of[run.Stack] == nil {
				of[run.Stack] = map[int]stats.Bounds{}
			}
			of[run.Stack][run.Round] = untilEnd(result.Workload{}, run)
		}
		for stack, rounds := range of {
			times[stack] = append(times[stack], rounds)
		}
	}
	return times
}

func drifts(stacks []result.Stack, thrown map[string]*drift) []drift {
	var all []drift
	for _, s := range stacks {
		if d := thrown[s.Floor]; d != nil && len(d.Rounds) > 0 {
			all = append(all, *d)
			delete(thrown, s.Floor)
		}
	}
	return all
}

// ratios of the times of two stacks, paired by round: one for every round that both have. Unknown where both
// were cut.
func ratios(runs, base []result.Run) []stats.Bounds {
	var all []stats.Bounds
	for _, run := range runs {
		for _, b := range base {
			if run.Round == b.Round {
				w := result.Workload{}
				all = append(all, untilEnd(w, run).Over(untilEnd(w, b)))
			}
		}
	}
	return all
}

// stack returns the runs of a stack; without runs when it has none that count.
func (p played) stack(name string) stackRuns {
	for _, s := range p.stacks {
		if s.Name == name {
			return s
		}
	}
	return stackRuns{}
}
