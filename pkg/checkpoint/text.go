package checkpoint

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes arbitrary text (an error, a file name) fit for a message field of at most n bytes: valid
// UTF-8 without control characters.
func Printable(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		// unicode.C includes the bidirectional controls, which reorder the text around them.
		if unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, s)
	return shorten(strings.TrimSpace(s), n)
}

// shorten cuts s to at most n bytes, between two characters, and marks the cut with an ellipsis.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
