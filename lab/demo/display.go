package demo

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// display shows the story while it is played.
type display interface {
	// act is called when an act begins.
	act(frame, int)
	// job is called when a job has changed.
	job(s frame, before, after JobState)
	// note shows a text that is not about a job.
	note(s frame, text string)
	// refresh redraws, so that the clocks advance.
	refresh(frame)
	// close ends the display.
	close(frame)
}

// newDisplay returns a live table on a terminal, otherwise lines. Without a terminal on standard input (a
// background job, a pipe, CI) it prints lines.
func newDisplay(in, out *os.File) display {
	if term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(in.Fd())) && os.Getenv("TERM") != "dumb" {
		return &liveTable{out: out, columns: func() int { return columnsOf(out) }}
	}
	return lineLog{out}
}

func columnsOf(out *os.File) int {
	columns, _, err := term.GetSize(int(out.Fd()))
	if err != nil || columns <= 0 {
		return width
	}
	return min(columns, width)
}

// lineLog prints one line per change.
type lineLog struct{ out io.Writer }

func (l lineLog) act(s frame, i int) {
	if i > 0 {
		fmt.Fprintln(l.out)
	}
	fmt.Fprintf(l.out, "%s  %d/%d  %s\n", stamp(s.elapsed), i+1, len(s.acts), s.acts[i].title)
}

func (l lineLog) job(s frame, before, after JobState) {
	if line := change(before, after, s.elapsed); line != "" {
		fmt.Fprintln(l.out, line)
	}
}

func (l lineLog) note(s frame, text string) {
	fmt.Fprintln(l.out, wrap(stamp(s.elapsed)+"  ", text, 3))
}

func (l lineLog) refresh(frame) {}

func (l lineLog) close(frame) { fmt.Fprintln(l.out) }

// liveTable redraws a table in place.
type liveTable struct {
	out     io.Writer
	columns func() int
	drawn   int // lines on the screen that the next draw replaces
}

func (l *liveTable) act(s frame, _ int) { l.refresh(s) }

func (l *liveTable) job(s frame, _, _ JobState) { l.refresh(s) }

func (l *liveTable) note(s frame, _ string) { l.refresh(s) }

func (l *liveTable) close(s frame) { l.refresh(s); fmt.Fprintln(l.out) }

func (l *liveTable) refresh(s frame) { l.draw(s.render(l.columns())) }

// draw replaces what it drew before, in a single write, so that no half-drawn table is seen.
func (l *liveTable) draw(rows []string) {
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
