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
	// maxLine is the maximum number of bytes of a line.
	maxLine = 16 << 10
	// maxTime is the maximum length of the time at the beginning of a line.
	maxTime = 40
)

// Line of a log.
type Line struct {
	// Time at which it was written, by its node's clock; zero if unknown.
	Time time.Time `json:"time,omitzero"`
	Text string    `json:"text"`
	// Cut is the number of bytes that were cut off.
	Cut int64 `json:"cut,omitempty"`
}

// reader of lines that begin with their times.
type reader struct {
	from *bufio.Reader
	line []byte
	cut  int64
}

func newReader(from io.Reader) *reader { return &reader{from: bufio.NewReaderSize(from, 32<<10)} }

// next returns the next line, or io.EOF at the end. A last line without a line end is a line.
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

// keep appends a part of the line up to the limit. It first drops what a progress bar has overwritten.
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

// lastReturn returns the index after the last carriage return that does not end the line, or 0.
func lastReturn(line []byte) int {
	return bytes.LastIndexByte(bytes.TrimRight(line, "\r\n"), '\r') + 1
}

// timeEnd returns the index after the space that ends the time.
func timeEnd(line []byte) int { return bytes.IndexByte(line[:min(len(line), maxTime)], ' ') + 1 }

func lineOf(line []byte, cut int64) Line {
	if end := timeEnd(line); end > 0 {
		if at, err := time.Parse(time.RFC3339Nano, string(line[:end-1])); err == nil {
			return Line{at.UTC(), plaintext.Line(string(line[end:])), cut}
		}
	}
	return Line{Text: plaintext.Line(string(line)), Cut: cut}
}

// waits reports whether the next read can block.
func (r *reader) waits() bool {
	ready, _ := r.from.Peek(r.from.Buffered())
	return bytes.IndexByte(ready, '\n') < 0
}
