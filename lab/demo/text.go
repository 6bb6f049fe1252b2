package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Width of everything that the demo prints, unless the terminal is narrower.
const width = 80

// stamp is the time since the story began, for the beginning of a line.
func stamp(elapsed time.Duration) string { return fmt.Sprintf("%6.1fs", elapsed.Seconds()) }

// wrap breaks a text into at most rows lines of the demo's width, all but the first indented to where it
// began; what does not fit is cut.
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

// spread puts left and right at the two ends of a line.
func spread(left, right string, columns int) string {
	room := columns - utf8.RuneCountInString(right)
	if right == "" {
		return left
	}
	left = clip(left, room-1)
	return left + strings.Repeat(" ", max(1, room-utf8.RuneCountInString(left))) + right
}

// clip cuts a line that is too long, and shows that it did.
func clip(line string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

// clock shows a duration in whole seconds; the table is no stop-watch.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// seconds shows a duration as the demo's texts do.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func span(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return seconds(d)
}
