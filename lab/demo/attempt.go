package demo

import (
	"fmt"
)

// attempt identifies one attempt of a job.
type attempt struct {
	job    string
	number int32
}

func (a attempt) String() string { return fmt.Sprintf("%s attempt %d", a.job, a.number) }

func (a attempt) has(p PodState) bool { return p.Job == a.job && p.Attempt == a.number }

// victim is the attempt that is preempted in the story.
func victim() attempt { return attempt{second, 1} }
