package demo

import (
	"fmt"
	"strings"
	"time"
)

// progress is the progress of a job in percent.
func progress(j JobState) string {
	if p := j.percent(); p >= 0 {
		return fmt.Sprintf("%d%%", p)
	}
	return "-"
}

// training describes the progress of a job; "" for a job that reports no steps.
func training(j JobState) string {
	if j.Progress == nil {
		return ""
	}
	text := fmt.Sprintf("step %d of %d", j.Progress.Step, j.Progress.Total)
	if j.Latest != nil {
		text += fmt.Sprintf(", checkpoint at %d", j.Latest.Step)
	}
	return text
}

// resuming describes where an attempt resumes and what was lost; "" for one that starts from the beginning.
func resuming(j JobState) string {
	if j.ResumeFrom == nil {
		return ""
	}
	return fmt.Sprintf(", resumes at %d, %d steps lost", j.ResumeFrom.Step, j.Work.LostSteps)
}

// change returns the line for a change of a job, with the message below it; "" when nothing changed. A
// checkpoint and the first progress of an attempt have lines of their own.
func change(before, after JobState, elapsed time.Duration) string {
	const detailRows = 2
	same := before.Phase == after.Phase && before.Gang == after.Gang && before.Attempt == after.Attempt &&
		before.Reason == after.Reason
	if after.Phase == "" || same && !hasTrained(before, after) {
		return ""
	}
	if same {
		text := training(after)
		if hasFirstProgress(before, after) {
			text = fmt.Sprintf("step %d of %d", after.Progress.Step, after.Progress.Total) + resuming(after)
		}
		return wrap(fmt.Sprintf("%s  %-7s %-10s %-4s ", stamp(elapsed), after.Name, after.Phase, progress(after)),
			text, detailRows)
	}
	line := fmt.Sprintf("%s  %-7s %-10s %-4s ", stamp(elapsed), after.Name, after.Phase, after.Gang)
	if after.Queue != "" {
		line += fmt.Sprintf("%-9s ", after.Queue)
	}
	if after.Reason == "" {
		return wrap(line, after.Message, detailRows)
	}
	line += after.Reason
	if after.Message != "" {
		line += "\n" + wrap(strings.Repeat(" ", len("  12.3s  ")), after.Message, detailRows)
	}
	return line
}

// hasTrained reports whether there is a new checkpoint, or the first progress of an attempt.
func hasTrained(before, after JobState) bool {
	saved := after.Latest != nil && (before.Latest == nil || *before.Latest != *after.Latest)
	return saved || hasFirstProgress(before, after)
}

// hasFirstProgress reports whether this is the first progress of an attempt.
func hasFirstProgress(before, after JobState) bool {
	return after.Progress != nil && (before.Progress == nil || before.Progress.Attempt != after.Progress.Attempt)
}

// cost describes what was lost.
func (w Work) cost() string {
	return fmt.Sprintf("%d steps, %d GPU-seconds; it ran again after %d s", w.LostSteps, w.LostGPUSeconds,
		w.ResumeSeconds)
}
