package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// width of everything that the demo prints, unless the terminal is narrower.
const width = 80

// stamp is the time since the story began, as lines begin with it.
func stamp(elapsed time.Duration) string { return fmt.Sprintf("%6.1fs", elapsed.Seconds()) }

// wrap breaks a text into at most rows lines of the demo's width. All but the first are indented to where
// the text began; what does not fit is cut.
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
	free := columns - utf8.RuneCountInString(right)
	if right == "" {
		return left
	}
	left = clip(left, free-1)
	return left + strings.Repeat(" ", max(1, free-utf8.RuneCountInString(left))) + right
}

// clip shortens a line that is too long, and marks the cut.
func clip(line string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

// clock formats a duration in minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// seconds formats a duration in seconds with one decimal.
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
