package docs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// anything stands for any text.
const anything = "..."

// masks replace what differs from run to run, and says nothing.
var masks = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b`), "<age>"},
	{regexp.MustCompile(`\b(\d+d)?(\d+h)?\d+m\b|\b(\d+d)?\d+h\b|\b\d+d\b`), "<age>"},
	{regexp.MustCompile(`\b(x\d+ over )`), "x<n> over "},
	{regexp.MustCompile(`\b(steps?) \d+`), "$1 <n>"},
	{regexp.MustCompile(`\b\d+ (steps|GPU-seconds)`), "<n> $1"},
	{regexp.MustCompile(`("?(?:step|percent|goodput)"?: ?)"?\d+"?`), "$1<n>"},
	{regexp.MustCompile(`("?(?:lostSteps|[a-z]+(?:GPU)?Seconds)"?: ?)"?\d+"?`), "$1<n>"},
	{regexp.MustCompile(`\bstep-\d+`), "step-<n>"},
	{regexp.MustCompile(`\b\d+%`), "<n>%"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`), "<address>"},
	// The suffix of a job's folder on a claim, and those of names that controllers make up.
	{regexp.MustCompile(`-[0-9a-f]{8}\b`), "-<id>"},
	{regexp.MustCompile(`-[0-9a-z]{8,10}-[0-9a-z]{5}\b`), "-<id>"},
}

// normal is text without what differs from run to run. Where lines break is not compared: pages break long
// ones, as terminals do, and the width of a column follows from what is in it.
func normal(lines []string) string {
	text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	for _, m := range masks {
		text = m.of.ReplaceAllString(text, m.by)
	}
	return text
}

// matches reports whether a command has printed what a page shows.
func matches(shown, printed []string) bool {
	parts := strings.Split(normal(shown), anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(parts[i]))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(normal(printed))
}

// linesOf a command's output, without blank lines at its end.
func linesOf(output string) []string {
	output = strings.TrimRight(output, "\n ")
	if output == "" {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		lines = append(lines, broken(strings.TrimRight(line, " "))...)
	}
	return lines
}

// widest a line of a page may be.
const widest = 108

// broken is a line in as many as the page needs, all but the first with more indentation.
func broken(line string) []string {
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+4)
	var lines []string
	for utf8.RuneCountInString(line) > widest {
		at := strings.LastIndex(string([]rune(line)[:widest]), " ")
		if at <= len(indent) {
			break // one word
		}
		lines, line = append(lines, line[:at]), indent+line[at+1:]
	}
	return append(lines, line)
}
