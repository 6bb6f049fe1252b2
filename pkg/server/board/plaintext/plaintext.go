// Package plaintext answers one question: what is the text of a line that a program wrote for a terminal?
//
// It removes escape sequences (colours, titles, cursors) and control characters. Of a line that a progress
// bar has overwritten with carriage returns, it keeps what a terminal would show. The result can still
// contain HTML, which the templates escape.
package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes of ECMA-48: control sequences such as colours (5.4), control strings such as titles (5.6; xterm
// also ends them with BEL), and escape sequences of two or more characters. One that is cut off at the end of
// the line is removed, too.
var escapes = regexp.MustCompile("\x1b(?:" +
	`\[[0-?]*[ -/]*(?:[@-~]|$)|` +
	"[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\|$)|" +
	`[ -/]*[0-~]|$)`)

// Line returns a line as text, without its end. Bytes that are not UTF-8 become U+FFFD.
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

// Text applies Line to each line of a text.
func Text(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// special are the runes that Line handles, including those that change the direction of text: they could
// disguise a line.
func special(r rune) bool {
	return r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\t' ||
		unicode.Is(unicode.Bidi_Control, r)
}
