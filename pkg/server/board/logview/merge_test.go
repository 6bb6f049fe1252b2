package logview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// written returns lines at seconds after the epoch; a negative number is a line without a time.
func written(seconds ...int) []Line {
	var all []Line
	for _, s := range seconds {
		l := Line{Text: fmt.Sprint(s)}
		if s >= 0 {
			l.Time = epoch.Add(time.Duration(s) * time.Second)
		}
		all = append(all, l)
	}
	return all
}

// TestMerger: lines come in the order of their times, and wait for earlier ones for a limited time.
func TestMerger(t *testing.T) {
	const a, b, c = 0, 1, 2
	type step struct {
		after time.Duration
		do    func(*merger, time.Time)
		want  string // ranks and lines that come
	}
	put := func(rank int, seconds ...int) func(*merger, time.Time) {
		return func(m *merger, now time.Time) { m.put(rank, written(seconds...), "", now) }
	}
	is := func(rank int, s source) func(*merger, time.Time) {
		return func(m *merger, _ time.Time) { m.sources[rank] = s }
	}
	nothing := func(*merger, time.Time) {}
	for name, tt := range map[string]struct {
		reason string
		steps  []step
	}{
		"all have lines": {"the earliest of all is known", []step{
			{0, put(a, 1, 4), ""}, {0, put(b, 2, 6), ""}, {0, put(c, 3), "a1 b2 c3"},
			{0, put(c, 5), "a4"},
		}},
		"one writes": {"others may have written earlier", []step{
			{0, put(a, 1), ""}, {hold / 2, nothing, ""}, {hold / 2, nothing, "a1"},
		}},
		"a late line": {"it still comes before what waits", []step{
			{0, put(a, 5, 6), ""}, {hold / 2, put(b, 3, 7), ""}, {hold / 2, nothing, "b3 a5 a6"},
			{hold / 2, nothing, "b7"},
		}},
		"very late": {"it comes too late to be sorted", []step{
			{0, put(a, 5), ""}, {hold, nothing, "a5"}, {0, put(b, 3), ""}, {hold, nothing, "b3"},
		}},
		"one is opened": {"it can have many lines", []step{
			{0, is(b, opening), ""}, {0, put(a, 5), ""}, {hold, nothing, ""}, {0, put(b, 1), ""},
			{0, is(b, writing), "b1 a5"},
		}},
		"one takes long to open": {"the wait is limited", []step{
			{0, is(b, opening), ""}, {0, put(a, 5), ""}, {holdOpening, nothing, "a5"},
		}},
		"others are silent": {"nothing can come from them", []step{
			{0, is(b, silent), ""}, {0, is(c, silent), ""}, {0, put(a, 1), "a1"},
		}},
		"no times": {"such lines stay behind the one before", []step{
			{0, put(a, 1, -1, -2, 9), ""}, {0, put(b, 2), ""}, {hold, nothing, "a1 a-1 a-2 b2 a9"},
		}},
	} {
		m, now := newMerger(3), epoch
		for i := range m.sources {
			m.sources[i] = writing
		}
		for n, s := range tt.steps {
			now = now.Add(s.after)
			s.do(m, now)
			lines, wait := m.take(now)
			var got []string
			for _, l := range lines {
				got = append(got, string(rune('a'+l.rank))+l.Text)
			}
			if diff := cmp.Diff(s.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: %s: step %d (-want +got):\n%s", name, tt.reason, n, diff)
			}
			if waits := m.size > 0; waits != (wait > 0) {
				t.Errorf("%s: step %d: %d bytes wait, for %v", name, n, m.size, wait)
			}
		}
	}
}

// TestMergerIsBounded: lines beyond the limit do not wait, and an event has a maximum size.
func TestMergerIsBounded(t *testing.T) {
	m := newMerger(2)
	m.sources[0], m.sources[1] = writing, writing
	for m.size <= maxHeld {
		m.put(0, []Line{{Time: epoch, Text: strings.Repeat("x", 10_000)}}, "", epoch)
	}
	lines, wait := m.take(epoch)
	if len(lines) == 0 || m.size > maxHeld || wait == 0 {
		t.Errorf("%d lines come, and %d bytes stay for %v", len(lines), m.size, wait)
	}
	lines, _ = m.take(epoch.Add(hold))
	size := 0
	for _, l := range lines {
		size += cost(l.Line)
	}
	if size < batchBytes || size > batchBytes+20_000 {
		t.Errorf("an event has %d bytes", size)
	}
}
