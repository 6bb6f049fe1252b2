package demo

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares with a file of testdata, and holds every line within the width.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update accepts it:\n%s", name, diff)
	}
}

// upTo is the state after the first steps of the story, the named one included.
func upTo(last string) *ClusterState {
	t := newHistoryBuilder()
	for _, s := range steps() {
		s.play(t)
		if s.name == last {
			return t.state
		}
	}
	panic("the story has no step " + last)
}

func frameAt(w *ClusterState, act int) frame {
	s := frame{scheduler: "volcano", elapsed: 83 * time.Second, state: w}
	for i, a := range Story(false) {
		line := actLine{title: a.Title}
		switch {
		case i < act:
			line.state, line.took = actOver, 2300*time.Millisecond
		case i == act:
			line.state, line.took = actNow, 12*time.Second
		}
		s.acts = append(s.acts, line)
	}
	return s
}

func TestTable(t *testing.T) {
	var b strings.Builder
	for _, moment := range []struct {
		step string
		act  int
	}{
		{"nodes", 0}, {"second waits", 1}, {"second trains", 3}, {"the scheduler picks four", 4},
		{"second waits again", 5}, {"second trains again", 6}, {"second ends", 6},
	} {
		rows := frameAt(upTo(moment.step), moment.act).render(width)
		b.WriteString("### " + moment.step + "\n" + strings.Join(rows, "\n") + "\n")
	}
	s := frameAt(upTo("urgent comes"), 2)
	s.operatorRestarts = 1
	b.WriteString("### the operator was killed\n" + strings.Join(s.render(width), "\n") + "\n")
	golden(t, "table.txt", b.String())
}

// A redraw would leave a part of a line that wraps.
func TestTableFitsNarrowTerminals(t *testing.T) {
	w := upTo("second drains")
	for _, columns := range []int{20, 40, 79} {
		for _, line := range frameAt(w, 4).render(columns) {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns in a terminal of %d: %s", n, columns, line)
			}
		}
	}
}

func TestRedrawReplacesWhatWasDrawn(t *testing.T) {
	var out bytes.Buffer
	l := &liveTable{out: &out, columns: func() int { return width }}
	l.draw([]string{"one", "two"})
	l.draw([]string{"three"})
	want := "\r\x1b[Kone\n\r\x1b[Ktwo\n\x1b[J" + "\x1b[2A\r\x1b[Kthree\n\x1b[J"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := lineLog{&out}
	s := frameAt(NewClusterState(), 0)
	l.act(s, 0)
	w := NewClusterState()
	start := time.Time{}
	for _, r := range storyHistory(nil).Records {
		if start.IsZero() {
			start = r.Time
		}
		if r.Job != nil {
			s.elapsed = r.Time.Sub(start)
			l.job(s, w.Jobs[r.Job.Name], *r.Job)
		}
		w.Apply(r)
	}
	l.note(s, "The operator ended (signal: killed) and is started again.")
	golden(t, "lines.txt", out.String())
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	s := summarise(storyHistory(nil), false)
	s.Writes = map[string]int{first: 13, second: 27, urgent: 13}
	s.print(&out)
	out.WriteString("\n### the others keep their GPUs forever\n\n")
	s = summarise(storyHistory(map[string]func(*historyBuilder){
		"second drains": nil, "second returns": nil, "second waits again": nil,
		"second starts again": nil, "second trains again": nil, "second ends": nil,
	}), false)
	s.OperatorRestarts = 2
	s.print(&out)
	golden(t, "summary.txt", out.String())
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 40)
	tests := map[string]struct {
		head, text string
		rows       int
		want       string
	}{
		"short":         {"a: ", "b c", 2, "a: b c"},
		"no text":       {"a:  ", "", 2, "a:"},
		"cut":           {"a: ", long, 1, "a: " + strings.Repeat("word ", 15) + "w…"},
		"one long word": {"a: ", strings.Repeat("x", 100), 2, "a: " + strings.Repeat("x", 76) + "…"},
		"second line": {"a: ", strings.Repeat("word ", 16), 2,
			"a: " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n   word"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wrap(test.head, test.text, test.rows)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
