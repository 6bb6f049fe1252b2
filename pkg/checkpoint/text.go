package checkpoint

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// shorten cuts to at most n bytes, at a character.
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

// Printable makes text from anywhere (an error, a file name) fit for a message's field of n characters.
func Printable(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) { // controls and what reorders text
			return ' '
		}
		return r
	}, s)
	return shorten(strings.TrimSpace(s), n)
}
