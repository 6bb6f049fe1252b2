package main

import (
	"io"
	"os"
	"sync"
	"time"
)

const tailBytes = 2048

// tail passes the trainer's stderr on and keeps its end for the termination message. It drains the pipe whatever happens to the
// other side: a log that cannot be written must not block the trainer.
type tail struct {
	mu   sync.Mutex
	end  []byte
	done chan struct{}
}

// follow returns the end that the trainer writes to; the caller closes it after the start.
func follow(to io.Writer) (*tail, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer r.Close()
		buf := make([]byte, 8<<10)
		for {
			n, err := r.Read(buf)
			_, _ = to.Write(buf[:n])
			t.mu.Lock()
			t.end = append(t.end, buf[:n]...)
			if len(t.end) > tailBytes {
				t.end = append(t.end[:0], t.end[len(t.end)-tailBytes:]...)
			}
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t, w, nil
}

// last waits until everybody has closed the pipe, but not for a daemon that keeps it open.
func (t *tail) last(c clock) string {
	select {
	case <-t.done:
	case <-c.After(time.Second):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
