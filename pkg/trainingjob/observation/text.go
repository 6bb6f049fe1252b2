package observation

import (
	"regexp"
	"strings"
	"unicode"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// maxForeignLine is the longest line of foreign text, in bytes: the limit of a condition's message
// (k8s.io/apimachinery metav1.Condition).
const maxForeignLine = 32768

// Line sanitizes a text of a trainer, a registry, the kubelet or a scheduler. It returns one line of valid
// UTF-8 without characters that control a terminal or reorder the text around them.
func Line(s string) string {
	return checkpoint.Printable(escapeSequences.ReplaceAllString(s, ""), maxForeignLine)
}

// Lines sanitizes a log. It keeps lines and tabs; the carriage returns of progress bars become line breaks.
func Lines(s string) string {
	s = strings.ToValidUTF8(escapeSequences.ReplaceAllString(s, ""), "?")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return ' '
		}
		return r
	}, s))
}

// plainVerdict sanitizes the texts of the scheduler's verdict and of Why.
func plainVerdict(s *Snapshot) {
	v := &s.Verdict
	v.Reason, v.Message, v.NextStep = Line(v.Reason), Line(v.Message), Line(v.NextStep)
	if why := s.Why; why != nil {
		s.Why = func() (scheduler.Explanation, bool) {
			e, known := why()
			e.Message, e.NextStep = Line(e.Message), Line(e.NextStep)
			return e, known
		}
	}
}

// escapeSequences of a terminal, such as colours and titles (ECMA-48: CSI and OSC sequences). Other sequences
// lose only their control characters.
var escapeSequences = regexp.MustCompile(
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")
