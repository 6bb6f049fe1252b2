package main

import "time"

// clock is injected, so that tests make time pass and jump. Waiting goes by After, which no jump of the wall clock touches.
type clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
