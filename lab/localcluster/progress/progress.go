// Package progress tells a person what long work is doing: on a terminal one line that is redrawn, in a log a
// line now and then.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often an Indicator prints: more rarely to a log, where every line stays.
const (
	terminalInterval = time.Second
	logInterval      = 10 * time.Second
)

// Line is one line of progress: what a subject is doing, and for how long.
func Line(subject, what string, elapsed time.Duration) string {
	return fmt.Sprintf("%-12s %5s  %s", subject, elapsed.Round(time.Second), what)
}

// Indicator prints what one piece of work is doing and for how long it has been at it. It prints nothing
// before the first interval is over, so work that turns out to be done is silent.
type Indicator struct {
	out      io.Writer
	subject  string
	describe func(phase string, elapsed time.Duration) string
	terminal bool
	started  time.Time
	finish   chan struct{}
	ended    sync.WaitGroup

	mu    sync.Mutex // guards phase
	phase string
}

// Start starts an indicator; end it with Stop or Done. Nothing is printed when out is nil. describe turns the
// current phase into what a line says; it is called from another goroutine.
func Start(
	out io.Writer, subject string, describe func(phase string, elapsed time.Duration) string,
) *Indicator {
	if out == nil {
		out = io.Discard
	}
	i := &Indicator{
		out: out, subject: subject, describe: describe, started: time.Now(), finish: make(chan struct{}),
	}
	interval := logInterval
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		i.terminal, interval = true, terminalInterval
	}
	i.ended.Go(func() { i.print(interval) })
	return i
}

func (i *Indicator) print(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-i.finish:
			return
		case <-ticker.C:
			i.mu.Lock()
			phase := i.phase
			i.mu.Unlock()
			elapsed := time.Since(i.started)
			line := Line(i.subject, i.describe(phase, elapsed), elapsed)
			if i.terminal {
				line = "\r\x1b[K" + line
			} else {
				line += "\n"
			}
			io.WriteString(i.out, line)
		}
	}
}

// SetPhase sets what the next line says.
func (i *Indicator) SetPhase(phase string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase = phase
}

// Stop ends the printing. Calling it again does nothing.
func (i *Indicator) Stop() {
	select {
	case <-i.finish:
		return
	default:
	}
	close(i.finish)
	i.ended.Wait()
	if i.terminal {
		io.WriteString(i.out, "\r\x1b[K")
	}
}

// Done stops the indicator and leaves a line that says how long the work took, which it returns.
func (i *Indicator) Done(what string) time.Duration {
	i.Stop()
	elapsed := time.Since(i.started)
	fmt.Fprintln(i.out, Line(i.subject, what, elapsed))
	return elapsed
}

// LineWriter lets several goroutines write whole lines to Out.
type LineWriter struct {
	Out io.Writer
	mu  sync.Mutex
}

// Write writes one line.
func (w *LineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Out.Write(p)
}
