package demo

import (
	"fmt"
)

// attempt is one start of a job.
type attempt struct {
	job    string
	number int32
}

func (a attempt) String() string { return fmt.Sprintf("%s attempt %d", a.job, a.number) }

func (a attempt) has(p PodState) bool { return p.Job == a.job && p.Attempt == a.number }

// victim is the attempt that the story has preempted.
func victim() attempt { return attempt{second, 1} }
