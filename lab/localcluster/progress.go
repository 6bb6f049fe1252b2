package localcluster

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often progress is shown: a terminal's line is redrawn, a log gets a new
// line, and so more rarely.
const (
	terminalInterval = time.Second
	logInterval      = 10 * time.Second
)

// progress tells what one long piece of work is doing and for how long it has
// been at it. It says nothing before the first interval is over, so that work
// found done is silent.
type progress struct {
	out      io.Writer
	subject  string
	terminal bool
	started  time.Time
	finish   chan struct{}
	ended    sync.WaitGroup

	mu   sync.Mutex
	what string
}

func newProgress(out io.Writer, subject string) *progress {
	if out == nil {
		out = io.Discard
	}
	p := &progress{out: out, subject: subject, started: time.Now(), finish: make(chan struct{})}
	interval := logInterval
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.terminal, interval = true, terminalInterval
	}
	p.ended.Go(func() { p.tell(interval) })
	return p
}

func (p *progress) tell(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.finish:
			return
		case <-ticker.C:
			p.mu.Lock()
			line := progressLine(p.subject, p.what, time.Since(p.started))
			p.mu.Unlock()
			if p.terminal {
				line = "\r\x1b[K" + line
			} else {
				line += "\n"
			}
			io.WriteString(p.out, line)
		}
	}
}

// phase changes what the next line says.
func (p *progress) phase(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

// stop ends the telling; calling it again does nothing.
func (p *progress) stop() {
	select {
	case <-p.finish:
		return
	default:
	}
	close(p.finish)
	p.ended.Wait()
	if p.terminal {
		io.WriteString(p.out, "\r\x1b[K")
	}
}

// done stops and leaves one line that says how long it took.
func (p *progress) done(what string) {
	p.stop()
	fmt.Fprintln(p.out, progressLine(p.subject, what, time.Since(p.started)))
}

func progressLine(subject, what string, elapsed time.Duration) string {
	return fmt.Sprintf("%-12s %5s  %s", subject, elapsed.Round(time.Second), what)
}

// lineWriter lets several goroutines write lines.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
