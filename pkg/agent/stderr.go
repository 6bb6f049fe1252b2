package agent

import (
	"io"
	"os"
	"sync"
	"time"
)

// tailBytes of the trainer's stderr go into the termination message.
const tailBytes = 2048

// stderrTail passes the trainer's stderr on, and keeps its end for the termination message. It drains the
// pipe even if it cannot write: a log that is full must not block the trainer.
type stderrTail struct {
	mu   sync.Mutex
	tail []byte
	done chan struct{}
}

// teeStderr returns the end of a pipe that the trainer writes to. The caller closes it after the start.
func teeStderr(to io.Writer) (*stderrTail, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	t := &stderrTail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer r.Close()
		t.copy(r, to)
	}()
	return t, w, nil
}

func (t *stderrTail) copy(from io.Reader, to io.Writer) {
	buf := make([]byte, 8<<10)
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n])
		t.mu.Lock()
		t.tail = append(t.tail, buf[:n]...)
		if len(t.tail) > tailBytes {
			t.tail = append(t.tail[:0], t.tail[len(t.tail)-tailBytes:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// last waits until all writers have closed the pipe, at most a second: a daemon may keep it open.
func (t *stderrTail) last(c clock) string {
	select {
	case <-t.done:
	case <-c.After(time.Second):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.tail)
}
