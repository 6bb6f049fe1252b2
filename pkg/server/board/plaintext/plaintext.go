// Package plaintext answers one question: what does a line that a program wrote for a terminal say as text?
//
// Escape sequences (colours, titles, cursors) and control characters go; of a line that a progress bar has
// overwritten with carriage returns, what a terminal would show last stays. What is left is text: it may
// still contain HTML, which is the templates' to escape.
package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes as ECMA-48 has them: control sequences such as colours (5.4), control strings such as titles (5.6;
// xterm ends them with BEL, too), and escape sequences of two characters and more. One that is cut off at the
// end of the line goes, too.
var escapes = regexp.MustCompile("\x1b(?:" +
	`\[[0-?]*[ -/]*(?:[@-~]|$)|` +
	"[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\|$)|" +
	`[ -/]*[0-~]|$)`)

// Line is a line without its end as text. Bytes that are not UTF-8 become U+FFFD.
func Line(line string) string {
	line = strings.TrimRight(line, "\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	if strings.IndexFunc(line, special) < 0 {
		return line
	}
	line = escapes.ReplaceAllString(line, "")
	return strings.Map(func(r rune) rune {
		if r != '\t' && special(r) && r != unicode.ReplacementChar {
			return -1
		}
		return r
	}, line)
}

// Text is Line for each line of a text.
func Text(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// special are the runes that Line must look at. Those that turn the direction of text around are among them:
// they could make a line look like another one.
func special(r rune) bool {
	return r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\t' ||
		unicode.Is(unicode.Bidi_Control, r)
}
