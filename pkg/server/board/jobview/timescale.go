package jobview

import "time"

const day = 24 * time.Hour

// steps of a clock that are easy to read.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day,
}

// stepFor is the smallest step of which at most n fit into a time.
func stepFor(span time.Duration, n int) time.Duration {
	for _, s := range steps {
		if span <= s*time.Duration(n) {
			return s
		}
	}
	last := steps[len(steps)-1]
	return last * (1 + span/(last*time.Duration(n)))
}

// timescale maps times to percent along an axis.
type timescale struct{ from, to time.Time }

// timescaleOf times, of which to is at least a second after from.
func timescaleOf(from, to time.Time) timescale {
	if to.Before(from.Add(time.Second)) {
		to = from.Add(time.Second)
	}
	return timescale{from, to}
}

// updates is the maximum number of steps in which a growing chart moves to its end, and so of updates.
const updates = 240

// until is now, rounded up to steps that are just visible, of at least 5 seconds.
func until(from, now time.Time) time.Time {
	step := max(steps[1], stepFor(now.Sub(from), updates))
	if rest := now.Sub(from) % step; rest > 0 {
		return now.Add(step - rest)
	}
	return now
}

// at is the position of a time, in percent, limited to 0 to 100.
func (s timescale) at(t time.Time) float64 {
	return min(100, max(0, 100*float64(t.Sub(s.from))/float64(s.to.Sub(s.from))))
}

func (s timescale) contains(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// ticks at round times in UTC, at most 8, which fit on a phone.
func (s timescale) ticks() []Tick {
	step := stepFor(s.to.Sub(s.from), 7)
	layout := "15:04"
	switch {
	case step < time.Minute:
		step, layout = stepFor(s.to.Sub(s.from), 4), "15:04:05"
	case step >= day:
		layout = "2 Jan"
	}
	var ticks []Tick
	t := s.from.UTC().Truncate(step)
	if t.Before(s.from) {
		t = t.Add(step)
	}
	for ; !t.After(s.to); t = t.Add(step) {
		label := t.Format(layout)
		if step < day && t.Equal(t.Truncate(day)) {
			label = t.Format("2 Jan")
		}
		ticks = append(ticks, Tick{s.at(t), label})
	}
	return ticks
}

// Days of the axis.
func (s timescale) days() string {
	from, to := s.from.UTC().Format("2 January 2006"), s.to.UTC().Format("2 January 2006")
	if from == to {
		return from + ", UTC"
	}
	return from + " to " + to + ", UTC"
}
