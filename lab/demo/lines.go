package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// change is the line for what is new of a job, "" when nothing of it is: a reason is explained below it. A checkpoint, and the
// first word of an attempt that resumed, have lines of their own.
func change(before, after JobState, elapsed time.Duration) string {
	const detailRows = 2
	same := before.Phase == after.Phase && before.Gang == after.Gang && before.Attempt == after.Attempt && before.Reason == after.Reason
	if after.Phase == "" || same && !hasTrained(before, after) {
		return ""
	}
	if same {
		text := training(after)
		if hasSpoken(before, after) {
			text = fmt.Sprintf("step %d of %d", after.Progress.Step, after.Progress.Total) + resuming(after)
		}
		return wrap(fmt.Sprintf("%s  %-7s %-10s %-4s ", stamp(elapsed), after.Name, after.Phase, progress(after)), text, detailRows)
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

// hasTrained says whether there is a new checkpoint, or the first word of an attempt.
func hasTrained(before, after JobState) bool {
	saved := after.Latest != nil && (before.Latest == nil || *before.Latest != *after.Latest)
	return saved || hasSpoken(before, after)
}

// hasSpoken says whether an attempt said its first word.
func hasSpoken(before, after JobState) bool {
	return after.Progress != nil && (before.Progress == nil || before.Progress.Attempt != after.Progress.Attempt)
}

// stamp is the time since the story began, for the beginning of a line.
func stamp(elapsed time.Duration) string { return fmt.Sprintf("%6.1fs", elapsed.Seconds()) }

// wrap breaks a text into at most rows lines of the demo's width, all but the first indented to where it began; what does
// not fit is cut.
func wrap(head, text string, rows int) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	var lines []string
	line := head
	words := strings.Fields(text)
	for i, word := range words {
		fits := utf8.RuneCountInString(line)+utf8.RuneCountInString(word) <= width
		if !fits && line != head && len(lines) < rows-1 {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
			fits = true
		}
		if !fits {
			line = clip(line+strings.Join(words[i:], " "), width)
			break
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
