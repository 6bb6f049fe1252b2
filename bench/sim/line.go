package sim

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// Line compares a way with the first one, on the same gangs, seed by seed.
type Line struct {
	Way string
	// Lost and Waste are ratios to the first way's; unknown of seeds in which that lost nothing.
	Lost, Waste stats.Comparison
	// Goodput is the share of all GPU time until gangs ceased to arrive, in percent, in which work was done that
	// counted. LostShare, RestartShare and IdleShare are the waste of the whole run by that time, on average.
	Goodput                            stats.Comparison
	LostShare, RestartShare, IdleShare float64
	// Delay is by how many seconds gangs of high value wait longer for their start than with the first way, on
	// average, and Low how much longer the others take from arrival to end, as a ratio of the means.
	Delay, Low stats.Comparison
	// Asking is the longest time from when a plan was made until the last of its victims had ended.
	Asking time.Duration
	// Waits of gangs of high value for their first start, and Completions by value, of all seeds together.
	Waits       Spread
	Completions map[int32]Spread
	// Preemptions of a seed, on average; Asked are those of them that were asked to save first, and HandedOver
	// the plans that ended with the scheduler's own choice.
	Preemptions, Asked, HandedOver float64

	lost, waste []stats.Bounds
}

// Spread of times.
type Spread struct{ Mean, P50, P95, P99, Max time.Duration }

func spreadOf(times []time.Duration) Spread {
	var all []stats.Bounds
	for _, t := range times {
		all = append(all, stats.Exactly(t.Seconds()))
	}
	at := func(q float64) time.Duration {
		if len(all) == 0 {
			return 0
		}
		return time.Duration(stats.Quantile(q, all).Low * float64(time.Second))
	}
	return Spread{Mean: Mean(times), P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: at(1)}
}

func compare(s Shape, way Way, of, base []Result) Line {
	l := Line{Way: way.Name, Completions: map[int32]Spread{}}
	n := float64(len(of))
	percent := 100 / (float64(s.Nodes) * float64(s.GPUsPerNode) * s.For.Hours()) // of all GPU-hours of a seed
	var goodput, delay, low []stats.Bounds
	completions, waits := map[int32][]time.Duration{}, []time.Duration(nil)
	for i := range of {
		l.lost = append(l.lost, ratio(of[i].Lost, base[i].Lost))
		l.waste = append(l.waste, ratio(of[i].Waste(), base[i].Waste()))
		goodput = append(goodput, stats.Exactly(percent*of[i].Useful.Hours()))
		delay = append(delay, stats.Exactly((Mean(of[i].Waits[High]) - Mean(base[i].Waits[High])).Seconds()))
		low = append(low, ratio(Mean(of[i].Completions[Low]), Mean(base[i].Completions[Low])))
		l.LostShare += percent * of[i].Lost.Hours() / n
		l.RestartShare += percent * of[i].Restart.Hours() / n
		l.IdleShare += percent * of[i].Idle.Hours() / n
		l.Asking = max(l.Asking, of[i].Asking)
		waits = append(waits, of[i].Waits[High]...)
		for _, value := range []int32{Low, High} {
			completions[value] = append(completions[value], of[i].Completions[value]...)
		}
		l.Preemptions += float64(of[i].Preemptions) / n
		l.Asked += float64(of[i].Asked) / n
		l.HandedOver += float64(of[i].HandedOver) / n
	}
	l.Lost, l.Waste, l.Goodput = stats.Compare(l.lost), stats.Compare(l.waste), stats.Compare(goodput)
	l.Delay, l.Low, l.Waits = stats.Compare(delay), stats.Compare(low), spreadOf(waits)
	for value, times := range completions {
		l.Completions[value] = spreadOf(times)
	}
	return l
}

// ratio of two times; unknown where the second is 0.
func ratio(a, base time.Duration) stats.Bounds {
	if base == 0 {
		return stats.Unknown()
	}
	return stats.Exactly(a.Seconds()).Over(stats.Exactly(base.Seconds()))
}
