package logview

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/plaintext"
)

const (
	// maxLine is how many bytes of a line are kept.
	maxLine = 16 << 10
	// maxTime is how long the time at the beginning of a line can be.
	maxTime = 40
)

// Line of a log.
type Line struct {
	// Time at which it was written, by its node's clock; zero where that is unknown.
	Time time.Time `json:"time,omitzero"`
	Text string    `json:"text"`
	// Cut is how many bytes of the line are left out.
	Cut int64 `json:"cut,omitempty"`
}

// reader of lines that begin with their times.
type reader struct {
	from *bufio.Reader
	line []byte
	cut  int64
}

func newReader(from io.Reader) *reader { return &reader{from: bufio.NewReaderSize(from, 32<<10)} }

// next line. It is io.EOF at the end; a last line without its end is a line.
func (r *reader) next() (Line, error) {
	r.line, r.cut = r.line[:0], 0
	for {
		part, err := r.from.ReadSlice('\n')
		r.keep(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(r.line) > 0, err == nil:
			return lineOf(r.line, r.cut), nil
		}
		return Line{}, err
	}
}

// keep what fits of a part of the line. What a progress bar has overwritten makes room first.
func (r *reader) keep(part []byte) {
	r.line = append(r.line, part...)
	if len(r.line) <= maxLine {
		return
	}
	if head, at := timeEnd(r.line), lastReturn(r.line); at > head {
		r.line, r.cut = append(r.line[:head], r.line[at:]...), 0
	}
	if more := len(r.line) - maxLine; more > 0 {
		r.line, r.cut = r.line[:maxLine], r.cut+int64(more)
	}
}

// lastReturn is behind the last carriage return that does not end the line; 0: there is none.
func lastReturn(line []byte) int {
	return bytes.LastIndexByte(bytes.TrimRight(line, "\r\n"), '\r') + 1
}

// timeEnd is behind the space that ends the time.
func timeEnd(line []byte) int { return bytes.IndexByte(line[:min(len(line), maxTime)], ' ') + 1 }

func lineOf(line []byte, cut int64) Line {
	if end := timeEnd(line); end > 0 {
		if at, err := time.Parse(time.RFC3339Nano, string(line[:end-1])); err == nil {
			return Line{at.UTC(), plaintext.Line(string(line[end:])), cut}
		}
	}
	return Line{Text: plaintext.Line(string(line)), Cut: cut}
}

// waits reports whether the next line may have to be waited for.
func (r *reader) waits() bool {
	ready, _ := r.from.Peek(r.from.Buffered())
	return bytes.IndexByte(ready, '\n') < 0
}
