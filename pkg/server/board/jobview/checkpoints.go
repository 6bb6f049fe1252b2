package jobview

import (
	"slices"
	"time"
)

// shownCheckpoints is the number of checkpoints above the fold.
const shownCheckpoints = 8

// Checkpoints of a job, the newest first.
type Checkpoints struct {
	Shown, Older []CheckpointRow
	// Pending describes an incomplete checkpoint; empty if there is none.
	Pending  string
	Deadline *time.Time // of Pending, or nil
	// Interval that loses the least time, as computed by the operator; empty if unknown.
	Interval string
	// Save is the duration of the last save; empty if unknown.
	Save string
}

// CheckpointRow is one complete checkpoint.
type CheckpointRow struct {
	Step    string
	Attempt int32      // 0: unknown
	Time    *time.Time // nil: unknown
	URI     string
	// Latest and ResumePoint are its roles for the current attempt.
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

// ofStatus adds the status of the live job.
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
		c.Pending = "searching the volume for the latest complete checkpoint, try " +
			number(int64(d.Resolve.Try))
		c.Deadline = new(d.Resolve.Deadline.UTC())
	case d.CommandID != "":
		c.Pending = "requested, not complete yet"
		if d.Deadline != nil {
			c.Deadline = new(d.Deadline.UTC())
		}
	case d.Ran:
		c.Pending = "a checkpoint at the end of this attempt: " + unknown + " so far"
	}
}
