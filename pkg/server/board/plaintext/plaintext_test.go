package plaintext

import "testing"

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"plain":                   {"step 1\tloss 0.5", "step 1\tloss 0.5"},
		"its end":                 {"step 1\r\n", "step 1"},
		"colours":                 {"\x1b[1;31mERROR\x1b[0m disk \x1b[38;2;1;2;3mfull", "ERROR disk full"},
		"a title":                 {"\x1b]0;bash\x07ls \x1b]8;;http://x\x1b\\link", "ls link"},
		"a cursor":                {"\x1b[2K\x1b[1A\x1b(B\x1bMx", "x"},
		"a sequence that is cut":  {"x\x1b[3", "x"},
		"an escape alone":         {"x\x1b", "x"},
		"a title that is cut":     {"x\x1b]0;rm", "x"},
		"a progress bar":          {" 10%\r 50%\r100%\r\n", "100%"},
		"HTML stays text":         {"<b>&amp;</b>", "<b>&amp;</b>"},
		"bytes that are not text": {"a\xffb\xc3", "a\uFFFDb\uFFFD"},
		"other control":           {"a\x00b\x08c\u0085d", "abcd"},
		"direction":               {"user\u202Etxt.exe", "usertxt.exe"},
		"other alphabets":         {"损失 0.5 — ü", "损失 0.5 — ü"},
	} {
		if got := Line(c.line); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", name, c.line, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	if got, want := Text("a\r\n\x1b[31mb\n"), "a\nb\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
