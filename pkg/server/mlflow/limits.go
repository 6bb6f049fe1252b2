package mlflow

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of MLflow's API (mlflow/utils/validation.py of MLflow 3.17), in bytes; MLflow counts characters.
const (
	maxKey       = 250
	maxParameter = 6000
	maxTag       = 5000 // of MLflow 2.16, which rejects longer ones; newer releases accept 8000

	maxParameters = 100  // of one log-batch
	maxMetrics    = 1000 // of one log-batch
)

// cut shortens a text to a number of bytes, between two characters.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	at := limit - len(mark)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + mark
}

// cleanKey returns a valid name of an MLflow parameter or metric: letters, digits and "_-. :/", a path in its
// shortest form, at most 250 bytes. It is "" if nothing is left.
func cleanKey(name string) string {
	key := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' || r == '/' || r < 0x80 && isAlphanumeric(r) {
			return r
		}
		return '_'
	}, name)
	if path.IsAbs(key) || path.Clean(key) != key || strings.HasPrefix(key, "..") {
		key = strings.ReplaceAll(key, "/", "_")
	}
	if key == "." || key == ".." {
		return ""
	}
	return strings.TrimSuffix(key[:min(len(key), maxKey)], "/")
}
func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
