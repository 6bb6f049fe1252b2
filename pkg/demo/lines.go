package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// change is the line for what is new of a job, "" when nothing of it that the table shows is. A reason is explained below
// it.
func change(before, after JobState, elapsed time.Duration) string {
	if after.Phase == "" || before.Phase == after.Phase && before.Gang == after.Gang && before.Attempt == after.Attempt && before.Reason == after.Reason {
		return ""
	}
	const detailRows = 2
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
