package goldentest

import (
	"fmt"
	"strings"
	"testing"
)

// TestShort: only long lists are cut, with a note.
func TestShort(t *testing.T) {
	line := func(i int) string { return fmt.Sprintf("<li id=\"n%d\" data-v=\"x\"></li>\n", i) }
	var long strings.Builder
	for i := range shown + 5 {
		long.WriteString(line(i))
	}
	got := Short("<ul>\n" + long.String() + "</ul>\n<ul>\n" + line(99) + "</ul>\n")
	if strings.Count(got, "<li") != shown+1 || !strings.Contains(got, "n99") ||
		!strings.Contains(got, "left out") {
		t.Errorf("it becomes\n%s", got)
	}
	if plain := "<p>\n" + line(1) + "</p>"; Short(plain) != plain {
		t.Errorf("a short page becomes %s", Short(plain))
	}
}
