package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// A pickle is a program for a small stack machine that can call any Python function. This reader follows the
// opcodes and keeps the data among the values (names, numbers, dictionaries); a call leaves an opaque value.
// Source: Lib/pickletools.py of CPython, protocols 0 to 5.
//
// Memory and time are bounded: strings that the caller does not need, and values built from them, are opaque,
// so a .metadata file of many megabytes needs little memory.

// pickledInts returns the numbers that stand under the given keys in any dictionary of a pickle; the first of
// each key counts.
func pickledInts(r io.Reader, keys ...string) (map[string]int64, error) {
	out := map[string]int64{}
	p := newPickleReader(r, func(s string) bool { return slices.Contains(keys, s) })
	p.onEntry = func(key string, val pickleValue) {
		if _, ok := out[key]; !ok && val.kind == pickleInt {
			out[key] = val.n
		}
	}
	return out, p.run()
}

// newPickleReader returns a reader that keeps the strings that keep accepts.
func newPickleReader(r io.Reader, keep func(string) bool) *pickleReader {
	return &pickleReader{
		in:      bufio.NewReaderSize(io.LimitReader(r, maxPickle), 16<<10),
		keep:    keep,
		memo:    map[int64]pickleValue{},
		names:   map[string]string{},
		onEntry: func(string, pickleValue) {},
		onBuild: func(string, pickleValue) {},
	}
}

// run follows the pickle to its STOP opcode. A pickle without one was cut short.
func (p *pickleReader) run() error {
	for {
		op, err := p.in.ReadByte()
		if err == nil {
			if op == '.' {
				return nil
			}
			err = p.step(op)
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return torn("ends in the middle of its pickle")
		case errors.Is(err, errPickle):
			return unknown("holds a pickle that cannot be followed")
		case err != nil:
			return err
		}
		if len(p.stack) > maxPickleStack || len(p.memo) > maxPickleMemo ||
			len(p.names) > maxPickleNames || p.kept > maxPickleKept {
			return unknown("holds a pickle that is too large to follow")
		}
	}
}
