package metric

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBounded: at most Max values are distinguished, however many users set.
func TestBounded(t *testing.T) {
	b := Bounded{Max: 3}
	got := map[string]int{}
	for i := range 100 {
		got[b.Value(fmt.Sprint("queue-", i))]++
	}
	if len(got) != 4 || got[Other] != 97 {
		t.Errorf("got %v", got)
	}
	if v := b.Value("queue-1"); v != "queue-1" {
		t.Errorf("a value that is known stays, got %q", v)
	}
	if v := b.Value(""); v != "" {
		t.Errorf("no queue stays none, got %q", v)
	}
}

func TestText(t *testing.T) {
	for name, in := range map[string]string{
		"a letter is cut in two": strings.Repeat("ü", 200), "no UTF-8": "a\xffb", "short": "research",
	} {
		got := Text(in)
		if !utf8.ValidString(got) || len(got) > maxLabelBytes || got == "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := Text("research"); got != "research" {
		t.Errorf("got %q", got)
	}
}
