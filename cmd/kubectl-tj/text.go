package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

const (
	columns      = 80 // of the text that commands print
	labelColumns = 12 // of the labels at the left
	gap          = 2  // between the columns of a table
)

// sheet is text with labels. Lines are at most columns wide, except for long words and names.
type sheet struct{ strings.Builder }

// say writes text under a label; an empty label continues the one above.
func (s *sheet) say(label, text string) {
	if text != "" {
		s.lines(label, wrapped(text, columns-labelColumns))
	}
}

func (s *sheet) sayf(label, format string, args ...any) { s.say(label, fmt.Sprintf(format, args...)) }

// lines writes lines under a label.
func (s *sheet) lines(label string, lines []string) {
	if label != "" {
		label += ":"
	}
	for _, line := range lines {
		s.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labelColumns, label, line), " ") + "\n")
		label = ""
	}
}

// wrapped breaks text at spaces into lines of at most width columns. A longer word has its own line.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// table aligns rows of cells. Its gaps are narrower than kubectl's, to fit 80 columns.
func table(rows [][]string) []string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 8, gap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a strings.Builder returns no error
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// instant is a time as the API writes it.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// lasting formats a duration as kubectl does.
func lasting(seconds int64) string {
	return duration.HumanDuration(time.Duration(seconds) * time.Second)
}

// ago formats the time from t to now as kubectl formats ages.
func ago(t, now time.Time) string { return duration.HumanDuration(max(0, now.Sub(t))) }

// count of things, such as 1 job, 2 jobs.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
