package backfill

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// Measures of one way, as means over the seeds.
type Measures struct {
	Way string
	// LargeMean and LargeP95 are first waits of large gangs, Others the mean first wait of the others. Delay is
	// the mean time of the others from arrival to end, less their work: it has the waits after a recall, too.
	LargeMean, LargeP95, Others, Delay time.Duration
	// Useful is the GPU time until gangs cease to arrive in which work was done that counted, Restart that of
	// starts after recalls and failures, and Lost that of work that was done again.
	Useful, Restart, Lost         time.Duration
	Recalls, Lapsed, Moved        float64
	Reservations                  float64
	LongestHold                   time.Duration
	Expired, Failures, LargeCount float64
}

func measure(way string, of []sim.Result) Measures {
	m, n := Measures{Way: way}, time.Duration(len(of))
	for i := range of {
		r := &of[i]
		large, others := split(r.FirstWaits)
		_, delays := split(r.Delays)
		m.LargeMean += sim.Mean(large) / n
		m.LargeP95 += p95(large) / n
		m.Others += sim.Mean(others) / n
		m.Delay += sim.Mean(delays) / n
		m.Useful += r.Useful / n
		m.Restart += r.Restart / n
		m.Lost += r.Lost / n
		m.Recalls += float64(r.Recalls) / float64(n)
		m.Lapsed += float64(r.Lapsed) / float64(n)
		m.Moved += float64(r.Moved) / float64(n)
		m.Reservations += float64(r.Reservations) / float64(n)
		m.LongestHold = max(m.LongestHold, r.LongestHold)
		m.Expired += float64(r.Expired) / float64(n)
		m.Failures += float64(r.Failures) / float64(n)
		m.LargeCount += float64(len(large)) / float64(n)
	}
	return m
}

// split waits into those of large gangs and of the others.
func split(waits []sim.Wait) (large, others []time.Duration) {
	for _, w := range waits {
		if w.GPUs >= Large {
			large = append(large, w.Time)
		} else {
			others = append(others, w.Time)
		}
	}
	return large, others
}

// p95 is the smallest time that 95% of all do not exceed; 0 of none.
func p95(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	const percent = 95
	return times[min(len(times)-1, (len(times)*percent+99)/100-1)]
}

// way of a setting by name.
func (p *Played) way(name string) Measures {
	i := slices.IndexFunc(p.Ways, func(m Measures) bool { return m.Way == name })
	if i < 0 {
		panic(name + " was not played")
	}
	return p.Ways[i]
}

// over is a ratio of two times; 0 where the second is 0.
func over(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return a.Seconds() / b.Seconds()
}
