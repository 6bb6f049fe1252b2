package demo

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// newDisplay is a live table on a terminal, else lines. Without a terminal on standard input (a job in the background, a
// pipe, CI) nobody sits before it.
func newDisplay(in, out *os.File) display {
	if term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(in.Fd())) && os.Getenv("TERM") != "dumb" {
		return &live{out: out, columns: func() int { return columnsOf(out) }}
	}
	return lines{out}
}

func columnsOf(out *os.File) int {
	columns, _, err := term.GetSize(int(out.Fd()))
	if err != nil || columns <= 0 {
		return width
	}
	return min(columns, width)
}

// lines prints one line per change.
type lines struct{ out io.Writer }

func (l lines) act(s scene, i int) {
	if i > 0 {
		fmt.Fprintln(l.out)
	}
	fmt.Fprintf(l.out, "%s  %d/%d  %s\n", stamp(s.elapsed), i+1, len(s.acts), s.acts[i].title)
}

func (l lines) job(s scene, before, after JobState) {
	if line := change(before, after, s.elapsed); line != "" {
		fmt.Fprintln(l.out, line)
	}
}

func (l lines) note(s scene, text string) { fmt.Fprintln(l.out, wrap(stamp(s.elapsed)+"  ", text, 3)) }
func (l lines) refresh(scene)             {}
func (l lines) close(scene)               { fmt.Fprintln(l.out) }

// live redraws a table in place.
type live struct {
	out     io.Writer
	columns func() int
	drawn   int // lines on the screen that the next draw replaces
}

func (l *live) act(s scene, _ int)         { l.refresh(s) }
func (l *live) job(s scene, _, _ JobState) { l.refresh(s) }
func (l *live) note(s scene, _ string)     { l.refresh(s) }
func (l *live) close(s scene)              { l.refresh(s); fmt.Fprintln(l.out) }
func (l *live) refresh(s scene)            { l.draw(s.render(l.columns())) }

// draw replaces what it drew before, in one write, so that no half of a table is seen.
func (l *live) draw(rows []string) {
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	for _, row := range rows {
		b.WriteString("\r\x1b[K" + row + "\n")
	}
	b.WriteString("\x1b[J") // what is left of a longer table
	l.drawn = len(rows)
	io.WriteString(l.out, b.String())
}
