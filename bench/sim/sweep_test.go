package sim

import (
	"testing"
	"time"
)

func TestSweep(t *testing.T) {
	s := busy
	s.For = 24 * time.Hour
	const seeds = 4
	c := Sweep(s, func(seed uint64) []Job { return Generate(s, seed) }, Ways(), seeds)
	if len(c.Lines) != len(Ways()) || c.Noise.Pairs != seeds || c.Noise.Factor < 1 {
		t.Fatalf("%d ways, noise %+v", len(c.Lines), c.Noise)
	}
	first := c.Lines[0]
	same := first.Lost.Median.Low == 1 && first.Low.Median.Low == 1 && first.Delay.Median.Low == 0
	if !same || first.Lost.N != seeds {
		t.Errorf("the first way, compared with itself: %+v", first)
	}
	for _, l := range c.Lines {
		used := l.Goodput.Median.Low + l.LostShare + l.RestartShare + l.IdleShare
		if l.Goodput.Median.Low < 50 || used > 100 {
			t.Errorf("%s: goodput %.1f%%, and %.1f%% with what is wasted", l.Way, l.Goodput.Median.Low, used)
		}
		if l.Asking > MaxDelay {
			t.Errorf("%s: a victim was asked for %s, want at most %s", l.Way, l.Asking, MaxDelay)
		}
		if n := l.Completions[High]; n.P50 > n.P95 || n.P95 > n.P99 || n.P99 > n.Max || n.Mean == 0 {
			t.Errorf("%s: completions %+v", l.Way, n)
		}
	}
}
