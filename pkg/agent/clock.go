package agent

import "time"

// clock is injected, so that tests control the time. Waits use After, which jumps of the wall clock do
// not affect.
type clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// plausible reports whether a time may be reported. Outside these years the clock is wrong, and the
// operator would reject the report.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2200 }
