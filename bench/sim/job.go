package sim

import "time"

// Job is one gang.
type Job struct {
	ID      int
	Arrives time.Duration
	Value   int32
	Ranks   int
	// GPUs of one rank.
	GPUs int64
	// Work is the time for which it has to train.
	Work time.Duration
	// Interval between two saves, Save how long one takes, Start how long a start takes until the first step.
	Interval, Save, Start time.Duration
	// Listens is true if it saves on request, SavesAtEnd if it saves at SIGTERM.
	Listens, SavesAtEnd bool

	// Reports: its end is measured, too late by the factor Error. Lends: it may start in lent capacity.
	Reports, Lends bool
	Error          float64
	// Deadline is the longest that it runs, in all its runs; 0: none.
	Deadline time.Duration
	// Expected is the user's hint of its length; 0: none.
	Expected time.Duration
	// Queue whose quota it uses.
	Queue int
}

// Total GPUs of all ranks.
func (j *Job) Total() int64 { return int64(j.Ranks) * j.GPUs }
