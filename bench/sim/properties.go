package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Properties of gangs that traces lack, as shares from 0 to 1.
type Properties struct {
	// Reporters report their steps, so that the operator measures when they end.
	Reporters float64
	// Deadlines have an activeDeadlineSeconds of 1.2 to 3.2 times the time that the gang needs. Round: it is the
	// next of 1, 4, 24 and 168 hours, and gangs that need more have none.
	Deadlines float64
	Round     bool
	// Lenders save on request, and accept to start in lent capacity.
	Lenders float64
	// Queues is over how many queues the gangs are spread.
	Queues int
}

// The logarithm of Error is normal. Its median is that much of errorSpread above 0: ends are rarely early.
const errorSpread, errorP80 = 0.1, 0.8416

// Draw the properties of gangs. The same seed draws the same numbers for every share, so that a larger share
// only adds gangs.
func Draw(jobs []Job, p Properties, seed uint64) []Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		j := &jobs[i]
		r := rand.New(rand.NewPCG(seed, uint64(j.ID)+1000))
		j.Reports = r.Float64() < p.Reporters
		hasDeadline, factor := r.Float64() < p.Deadlines, 1.2+2*r.Float64()
		j.Lends = r.Float64() < p.Lenders
		j.Listens = j.Lends
		j.Error = math.Exp(errorSpread * (r.NormFloat64() + errorP80))
		j.Queue = r.IntN(max(1, p.Queues))
		if hasDeadline {
			whole := &run{Job: j}
			j.Deadline = deadline(time.Duration(factor*float64(whole.finishes())), p.Round)
		}
	}
	return jobs
}

func deadline(exact time.Duration, round bool) time.Duration {
	if !round {
		return exact
	}
	for _, hours := range []time.Duration{1, 4, 24, 168} {
		if d := hours * time.Hour; exact <= d {
			return d
		}
	}
	return 0
}
