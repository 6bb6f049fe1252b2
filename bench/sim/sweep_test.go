package sim

import (
	"strings"
	"testing"
	"time"
)

func TestSweep(t *testing.T) {
	s := busy
	s.For = 24 * time.Hour
	lines := Sweep(s, func(seed uint64) []Job { return Generate(s, seed) }, Ways(), 4)
	var out strings.Builder
	if err := Write(&out, lines); err != nil {
		t.Fatal(err)
	}
	for _, way := range Ways() {
		if !strings.Contains(out.String(), "| "+way.Name+" ") {
			t.Errorf("nothing is said of %s:\n%s", way.Name, out.String())
		}
	}
	if l := lines[0]; l.Lost.Median.Low != 1 || l.Lost.N != 4 || l.Delay != 0 || l.Low != 1 {
		t.Errorf("the first way, compared with itself: %+v", l)
	}
}
