package observation

import (
	"regexp"
	"strings"
	"unicode"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// maxForeignLine is the longest line that is taken from others, in bytes: as long as a condition's message
// may be (k8s.io/apimachinery metav1.Condition).
const maxForeignLine = 32768

// Line makes a text that a trainer, a registry, the kubelet or a scheduler wrote fit to be shown: one line of
// valid UTF-8, without characters that a terminal obeys or that reorder the text around them.
func Line(s string) string {
	return checkpoint.Printable(escapeSequences.ReplaceAllString(s, ""), maxForeignLine)
}

// Lines does the same to a log, whose lines and tabs stay. A progress bar's carriage returns become lines.
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

// plainVerdict makes what the scheduler says, and what the state of the cluster says, fit to be shown.
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

// escapeSequences of a terminal, such as colours and titles (ECMA-48: CSI and OSC sequences). What is left of
// others loses its control characters alone.
var escapeSequences = regexp.MustCompile(
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")
