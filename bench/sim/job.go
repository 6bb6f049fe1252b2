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
}

// Total GPUs of all ranks.
func (j *Job) Total() int64 { return int64(j.Ranks) * j.GPUs }
