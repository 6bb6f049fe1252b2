package forecasts

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// TestReport: the same seeds give the same bytes, and each row has as many cells as its head.
func TestReport(t *testing.T) {
	var pages [2][]byte
	for i := range pages {
		r, err := Play(t.Context(), Options{
			Seeds: 1, Sources: []backfill.Source{backfill.Generated(900)}, Progress: io.Discard,
		})
		if err != nil {
			t.Fatal(err)
		}
		if pages[i], err = r.Markdown(); err != nil {
			t.Fatal(err)
		}
		waited := 0
		for _, p := range r.Sections[0].Played {
			waited += p.Ways[0].Waited
		}
		if n := len(r.Sections[0].Played); n != len(settings()) || waited == 0 {
			t.Errorf("%d settings, want %d; %d gangs wait", n, len(settings()), waited)
		}
	}
	if !bytes.Equal(pages[0], pages[1]) {
		t.Error("the second report differs")
	}
	cells := 0
	for i, line := range strings.Split(string(pages[0]), "\n") {
		n := strings.Count(line, "|")
		if cells == 0 {
			cells = n
		}
		if n > 0 && n != cells || strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("line %d has %d cells, want %d: %s", i+1, n-1, cells-1, line)
		}
		if n == 0 {
			cells = 0
		}
	}
}

func TestMeasure(t *testing.T) {
	in := func(hours float64) time.Duration { return time.Duration(hours * float64(time.Hour)) }
	m := measure("a", []sim.Forecast{
		{Positions: "1", Has: true, Shown: true, Waited: in(2), Earliest: in(1), Median: in(2), Latest: in(4),
			ByGap: in(4), ByFirstEnd: -1},
		{Positions: "1", Has: true, Waited: in(4), Earliest: in(1), Median: in(2), Latest: in(3),
			ByGap: in(4), ByFirstEnd: in(2)},
		{Positions: "6-20", Waited: in(9), ByGap: -1, ByFirstEnd: -1},
	})
	if m.Waited != 3 || m.Has != (Share{2, 3}) || m.Held != (Share{1, 2}) || m.Shown != (Share{1, 3}) ||
		m.ShownHeld != (Share{1, 1}) || *m.HeldBy["1"] != (Share{1, 2}) {
		t.Errorf("%+v", m)
	}
	// The losses are (0.1*1 + 0 + 0.1*2)/3 and (0.1*3 + 0.5*2 + 0.9*1)/3.
	if m.Width != 4 || m.Error != 0.5 || m.Pinball < 0.416 || m.Pinball > 0.417 {
		t.Errorf("the width is %v, the error %v, the loss %v", m.Width, m.Error, m.Pinball)
	}
	if m.ByGap.Error != 1 || m.ByFirstEnd.Known != (Share{1, 2}) || m.ByFirstEnd.Error != 0.5 {
		t.Errorf("the rivals: %+v, %+v", m.ByGap, m.ByFirstEnd)
	}
}
