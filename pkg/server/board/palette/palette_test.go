package palette

import (
	"fmt"
	"strings"
	"testing"
)

// TestLooks: all colours and shapes occur about as often, and the look of a job is stable.
func TestLooks(t *testing.T) {
	const jobs = 144 * 100
	seen := map[Look]int{}
	for i := range jobs {
		seen[Of(fmt.Sprintf("%08d-aaaa-bbbb-cccc-ddddeeeeffff", i))]++
	}
	if len(seen) != Colours*Shapes {
		t.Errorf("%d looks of %d occur", len(seen), Colours*Shapes)
	}
	for look, n := range seen {
		if n < 50 || n > 200 {
			t.Errorf("%+v occurs %d times, want about 100", look, n)
		}
	}
	if got := Of("3f0c9a52-8a7e-4d6b-9b0e-0d2f5f3c7a11"); got != (Look{0, 5}) {
		t.Errorf("a job that has been %+v looks like %+v now", Look{0, 5}, got)
	}
}

// TestCSS: each colour has a class.
func TestCSS(t *testing.T) {
	for i := range Colours {
		if !strings.Contains(CSS, "."+Look{Colour: i}.Class()+" { --gang: light-dark(") {
			t.Errorf("colour %d has no class", i)
		}
	}
}

// TestCells: a shape is drawn within its cell.
func TestCells(t *testing.T) {
	for i := range Shapes {
		if path := (Look{Shape: i}).Cell(20, 10); !strings.HasPrefix(path, "M20 10m.5") ||
			!strings.HasSuffix(path, "z") {
			t.Errorf("shape %d is %s", i, path)
		}
	}
}
