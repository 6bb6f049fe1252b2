package jobview

import (
	"slices"
	"time"
)

// shownCheckpoints is how many checkpoints are shown at once; the others are behind a disclosure.
const shownCheckpoints = 8

// Checkpoints of a job, the newest first.
type Checkpoints struct {
	Shown, Older []CheckpointRow
	// Pending says what is known of a checkpoint that is not complete; empty where there is none.
	Pending  string
	Deadline *time.Time // of that; nil where there is none
	// Interval that would lose the least time, as the operator computes it; empty where it is unknown.
	Interval string
	// Save is how long the last save took; empty where it is unknown.
	Save string
}

// CheckpointRow is one complete checkpoint.
type CheckpointRow struct {
	Step    string
	Attempt int32      // 0: unknown
	Time    *time.Time // nil: unknown
	URI     string
	// Latest and ResumePoint say what it is to the current attempt.
	Latest, ResumePoint bool
}

func checkpointsOf(in *Input) Checkpoints {
	var c Checkpoints
	for _, point := range slices.Backward(in.Record.Checkpoints) {
		c.Shown = append(c.Shown, CheckpointRow{
			Step: number(point.Step), Attempt: point.Attempt, Time: point.Time, URI: point.URI,
		})
	}
	if in.Live != nil {
		c.ofStatus(in)
	} else if len(c.Shown) > 0 {
		c.Shown[0].Latest = true
	}
	if len(c.Shown) > shownCheckpoints {
		c.Shown, c.Older = c.Shown[:shownCheckpoints], c.Shown[shownCheckpoints:]
	}
	return c
}

// ofStatus adds what the live job says.
func (c *Checkpoints) ofStatus(in *Input) {
	st := &in.Live.Status
	if s := st.Checkpoint; s != nil {
		for i := range c.Shown {
			row := &c.Shown[i]
			row.Latest = s.Latest != nil && row.URI == s.Latest.URI && row.Step == number(s.Latest.Step)
			from := s.ResumeFrom
			row.ResumePoint = from != nil && row.URI == from.URI && row.Step == number(from.Step)
		}
		if s.SaveSeconds > 0 {
			c.Save = seconds(int64(s.SaveSeconds))
		}
		if s.SuggestedInterval > 0 {
			c.Interval = seconds(int64(s.SuggestedInterval))
		}
	}
	switch d := st.Drain; {
	case d == nil, d.CheckpointKnown:
	case d.Resolve != nil:
		c.Pending = "the volume is searched for the latest complete checkpoint, try " +
			number(int64(d.Resolve.Try))
		c.Deadline = new(d.Resolve.Deadline.UTC())
	case d.CommandID != "":
		c.Pending = "one is asked for, and is not complete"
		if d.Deadline != nil {
			c.Deadline = new(d.Deadline.UTC())
		}
	case d.Ran:
		c.Pending = "whether one was saved at the end of this attempt is " + unknown + " so far"
	}
}
