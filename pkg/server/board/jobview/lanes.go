package jobview

import (
	"cmp"
	"slices"
)

// Lane of one attempt.
type Lane struct {
	// Attempt is 0 for events of an unknown attempt.
	Attempt int32
	Bars    []Bar
	Marks   []Mark
}

// lanesOf attempts, the unknown ones first.
func lanesOf(bars []laneBar) []Lane {
	var lanes []Lane
	for _, b := range bars {
		at := slices.IndexFunc(lanes, func(l Lane) bool { return l.Attempt == b.attempt })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, Lane{Attempt: b.attempt})
		}
		lanes[at].Bars = append(lanes[at].Bars, b.Bar)
	}
	slices.SortStableFunc(lanes, func(a, b Lane) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return lanes
}

// spanOf the lanes: from the first bar to the last end, or to now.
func spanOf(lanes []Lane, in *Input) timescale {
	from := lanes[0].Bars[0].From
	for _, l := range lanes {
		for _, b := range l.Bars {
			if b.From.Before(from) {
				from = b.From
			}
		}
	}
	to := from
	for _, l := range lanes {
		for _, b := range l.Bars {
			end := b.To
			if b.Open {
				end = new(until(from, in.Now))
			}
			if end.After(to) {
				to = *end
			}
		}
	}
	return timescaleOf(from, to)
}

// place the bars on the chart.
func place(l *Lane, s timescale) {
	for i := range l.Bars {
		b := &l.Bars[i]
		end := s.to
		if b.To != nil {
			end = *b.To
		}
		b.At = s.at(b.From)
		b.Width = s.at(end) - b.At
		b.Title = b.describe(l.Attempt)
		if b.Unsure {
			b.To = nil
		}
	}
}

// legendOf the kinds in the lanes, in order.
func legendOf(lanes []Lane) []Kind {
	seen := map[Kind]bool{}
	for _, l := range lanes {
		for _, b := range l.Bars {
			seen[b.Kind] = true
		}
		for _, m := range l.Marks {
			seen[m.Kind] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !seen[k] })
}
