package planner

import (
	"testing"
	"time"
)

func TestRestAfter(t *testing.T) {
	for name, c := range map[string]struct{ last, took, want time.Duration }{
		"the first pass":   {0, 2 * time.Second, time.Second},
		"two fast passes":  {time.Millisecond, time.Millisecond, time.Second},
		"one that stalled": {time.Millisecond, 5 * time.Second, time.Second},
		"after a stall":    {5 * time.Second, time.Millisecond, time.Second},
		"a large cluster":  {300 * time.Millisecond, 200 * time.Millisecond, 4 * time.Second},
	} {
		if got := restAfter(time.Second, c.last, c.took); got != c.want {
			t.Errorf("%s: the planner rests for %s, want %s", name, got, c.want)
		}
	}
}
