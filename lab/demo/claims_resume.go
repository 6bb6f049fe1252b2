package demo

import (
	"errors"
	"fmt"
)

// resumption is what a history shows of the victim's training and of the attempt that resumes it.
type resumption struct {
	// trained is the last step that the victim is known to have trained, commit the newest complete checkpoint
	// that was known before the next attempt reported progress.
	trained int64
	commit  *Point
	// reported is true once the next attempt has reported progress. Then from is the checkpoint that it was
	// given, first the step of its first progress, lowest the lowest step of all.
	reported      bool
	from          *Point
	first, lowest int64
	// last is the last step that it reported, total the steps of the whole training.
	last, total int64
	work        Work
}

func findResumption(h History) resumption {
	var r resumption
	a := victim()
	_ = h.each(func(_ *ClusterState, record Record) error {
		j := record.Job
		if j == nil || j.Name != a.job || j.Deleted {
			return nil
		}
		r.work = j.Work
		p := j.Progress
		if p != nil && p.Attempt > a.number {
			if !r.reported {
				r.reported, r.from, r.first, r.lowest = true, j.ResumeFrom, p.Step, p.Step
			}
			r.lowest, r.last, r.total = min(r.lowest, p.Step), p.Step, p.Total
			return nil
		}
		if p != nil {
			r.trained, r.total = max(r.trained, p.Step), p.Total
		}
		if j.Latest != nil {
			r.commit = j.Latest
		}
		return nil
	})
	return r
}

// resumed checks that the next attempt continued from the newest complete checkpoint of the one before, and
// repeated no step before it.
func resumed(h History) (string, error) {
	r := findResumption(h)
	switch {
	case r.commit == nil:
		return "", notShown("its first attempt committed no checkpoint")
	case r.commit.Step <= 0 || r.commit.Step >= r.total:
		return "", notShown("its checkpoint at step %d of %d is not in the middle of the training", r.commit.Step,
			r.total)
	case !r.reported:
		return "", notShown("attempt 2 reported no progress")
	case r.from == nil:
		return "", fmt.Errorf("attempt 2 was given no checkpoint although step %d was saved", r.commit.Step)
	case *r.from != *r.commit:
		return "", fmt.Errorf("attempt 2 was given %s (step %d), "+
			"but the latest complete checkpoint is %s (step %d)",
			r.from.URI, r.from.Step, r.commit.URI, r.commit.Step)
	case r.first < r.from.Step:
		return "", fmt.Errorf("attempt 2 began at step %d, though step %d was saved", r.first, r.from.Step)
	case r.lowest < r.from.Step:
		return "", fmt.Errorf("attempt 2 went back to step %d, though step %d was saved", r.lowest, r.from.Step)
	case r.last < r.total:
		return "", fmt.Errorf("it ended at step %d of %d", r.last, r.total)
	}
	return fmt.Sprintf("at step %d of %d; attempt 2 trained on from there, up to step %d", r.from.Step, r.total,
		r.last), nil
}

// costReported checks that the status reports the cost of the preemption, and no less than was observed.
func costReported(h History) (string, error) {
	r := findResumption(h)
	w := r.work
	switch {
	case !r.reported:
		return "", notShown("attempt 2 reported no progress")
	case w.Interruptions != 1 || w.Resumptions != 1:
		return "", fmt.Errorf("its status counts %d interruptions and %d resumptions; 1 and 1 are right",
			w.Interruptions, w.Resumptions)
	case r.from == nil:
		return "", errors.New("attempt 2 was given no checkpoint: all progress is lost")
	}
	if seen := max(0, r.trained-r.from.Step); w.LostSteps < seen {
		return "", fmt.Errorf("its status reports %d lost steps, but it had trained step %d and resumed at %d",
			w.LostSteps, r.trained, r.from.Step)
	}
	if most := r.total - r.from.Step; w.LostSteps > most {
		return "", fmt.Errorf("its status reports %d lost steps, but only %d were left to train", w.LostSteps,
			most)
	}
	return w.cost(), nil
}
