package jobview

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestScales: every value that a trainer can report has a position in the chart, and labels within it.
func TestScales(t *testing.T) {
	for name, c := range map[string][2]float64{
		"a range":         {0.4, 4.2},
		"one value":       {3, 3},
		"zero":            {0, 0},
		"negative":        {-5, -1},
		"the largest":     {-math.MaxFloat64, math.MaxFloat64},
		"next to another": {1, math.Nextafter(1, 2)},
		"tiny":            {0, 5e-324},
		"large steps":     {1e15, 9e15},
	} {
		s := scaleOf(c[0], c[1], 0.06)
		for _, v := range c {
			if at := s.at(v); !(at >= 0 && at <= 100) {
				t.Errorf("%s: %g is at %g %%", name, v, at)
			}
		}
		for _, whole := range []bool{true, false} {
			for _, tick := range s.ticks(whole) {
				if !(tick.At >= 0 && tick.At <= 100) || tick.Label == "" {
					t.Errorf("%s: tick %+v", name, tick)
				}
			}
		}
	}
}

func TestTicksOfStepsAreWhole(t *testing.T) {
	for _, tick := range scaleOf(1, 3, 0).ticks(true) {
		if tick.Label != "1" && tick.Label != "2" && tick.Label != "3" {
			t.Errorf("a step is called %s", tick.Label)
		}
	}
	if n := len(scaleOf(0, 100, 0).ticks(true)); n < 2 {
		t.Errorf("an axis has %d labels", n)
	}
}

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		min, max float64
		want     []string
	}{
		"tenths":           {0, 0.5, []string{"0", "0.1", "0.2", "0.3", "0.4", "0.5"}},
		"halves":           {1.9, 4.1, []string{"2", "2.5", "3", "3.5", "4"}},
		"across zero":      {-1.1, 1.1, []string{"-1", "-0.5", "0", "0.5", "1"}},
		"a large offset":   {1000.1, 1000.5, []string{"1000.1", "1000.2", "1000.3", "1000.4", "1000.5"}},
		"small":            {0, 3e-5, []string{"0", "1e-05", "2e-05", "3e-05"}},
		"large":            {0, 4e7, []string{"0", "1e+07", "2e+07", "3e+07", "4e+07"}},
		"next to another":  {1, math.Nextafter(1, 2), nil},
		"no range":         {1, 1, nil},
		"an endless range": {math.Inf(-1), math.Inf(1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, tick := range (scale{c.min, c.max}).ticks(false) {
				got = append(got, tick.Label)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestTimescaleTicks: few enough for a phone, at round times, whatever the span.
func TestTimescaleTicks(t *testing.T) {
	from := time.Date(2026, 12, 31, 22, 3, 7, 0, time.UTC)
	for span := time.Second; span < 5*365*day; span = span*3/2 + time.Second {
		s := timescaleOf(from, from.Add(span))
		ticks := s.ticks()
		if len(ticks) > 8 {
			t.Errorf("%d ticks in %s", len(ticks), span)
		}
		if span > 4*time.Second && len(ticks) == 0 {
			t.Errorf("no tick in %s", span)
		}
		for i, tick := range ticks {
			if tick.At < 0 || tick.At > 100 || i > 0 && tick.At <= ticks[i-1].At {
				t.Errorf("in %s ticks are %v", span, ticks)
			}
		}
	}
	s := timescaleOf(from, from.Add(4*time.Hour))
	if first := s.ticks()[1].Label; first != "1 Jan" {
		t.Errorf("midnight is called %s, want its day: %v", first, s.ticks())
	}
}

// TestChartsMoveInSteps: a growing chart is sent a few hundred times at most, and never ends before now.
func TestChartsMoveInSteps(t *testing.T) {
	for _, ran := range []time.Duration{time.Minute, time.Hour, 30 * day} {
		ends := map[time.Time]bool{}
		const looks = 2000
		for i := range looks {
			now := epoch.Add(ran + ran*time.Duration(i)/looks) // until it has run for twice as long
			end := until(epoch, now)
			if end.Before(now) || end.Sub(now) > max(5*time.Second, ran/50) {
				t.Fatalf("after %s it ends %s after now", now.Sub(epoch), end.Sub(now))
			}
			ends[end] = true
		}
		if len(ends) > updates {
			t.Errorf("it moved %d times while %s became twice that", len(ends), ran)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 61 * time.Second: "1 min 1 s",
		3 * time.Hour: "3 h", 49*time.Hour + time.Minute: "2 d 1 h",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v is formatted as %q, want %q", d, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 9999: "9999", 10000: "10\u202F000", -1234567: "−1\u202F234\u202F567",
	} {
		if got := number(n); got != want {
			t.Errorf("%d is formatted as %q, want %q", n, got, want)
		}
	}
}
