package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// A pickle is a program for a small stack machine that can call any Python function. This reader walks the opcodes and keeps
// what is data (names, numbers, dictionaries); calls leave an opaque value behind. Source: Lib/pickletools.py of CPython, protocols 0 to 5.
//
// It is bounded in memory, not only in time: strings that nobody asked for and everything built from them are one opaque
// value, so a .metadata of many megabytes costs little.

const (
	maxPickle      = 256 << 20
	maxPickleStack = 1 << 17
	maxPickleMemo  = 1 << 17
	maxPickleText  = 1024
)

type pickleKind uint8

const (
	pickleOpaque pickleKind = iota
	pickleInt
	pickleText
	pickleDict
	pickleObject // of class text
	pickleClass
)

type pickleValue struct {
	kind pickleKind
	n    int64
	text string
	dict map[string]pickleValue // the keys that were asked for
}

// pickleReader walks one pickle.
type pickleReader struct {
	in    *bufio.Reader
	stack []pickleValue
	marks []int
	memo  map[int64]pickleValue
	puts  int64
	// keep says which strings matter.
	keep func(string) bool
	// pair is told of every entry of a dictionary whose key is kept, build of every object that gets its state.
	pair  func(key string, val pickleValue)
	build func(class string, state pickleValue)
	names map[string]string
}

var errPickle = errors.New("it is no pickle that can be followed")

// pickledInts collects numbers that stand in a dictionary under one of the keys; the first of each counts.
func pickledInts(r io.Reader, keys ...string) (map[string]int64, error) {
	out := map[string]int64{}
	p := newPickleReader(r, func(s string) bool { return slices.Contains(keys, s) })
	p.pair = func(key string, val pickleValue) {
		if _, ok := out[key]; !ok && val.kind == pickleInt {
			out[key] = val.n
		}
	}
	return out, p.run()
}

func newPickleReader(r io.Reader, keep func(string) bool) *pickleReader {
	return &pickleReader{
		in: bufio.NewReaderSize(io.LimitReader(r, maxPickle), 16<<10), keep: keep,
		memo: map[int64]pickleValue{}, names: map[string]string{},
		pair: func(string, pickleValue) {}, build: func(string, pickleValue) {},
	}
}

// run walks to STOP. A pickle without one was cut.
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
		if len(p.stack) > maxPickleStack || len(p.memo) > maxPickleMemo {
			return unknown("holds a pickle that is too large to follow")
		}
	}
}

func (p *pickleReader) push(v pickleValue) { p.stack = append(p.stack, v) }

func (p *pickleReader) pop() (pickleValue, error) {
	floor := 0
	if len(p.marks) > 0 {
		floor = p.marks[len(p.marks)-1]
	}
	if len(p.stack) <= floor {
		return pickleValue{}, errPickle
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v, nil
}

func (p *pickleReader) popMark() ([]pickleValue, error) {
	if len(p.marks) == 0 {
		return nil, errPickle
	}
	at := p.marks[len(p.marks)-1]
	p.marks = p.marks[:len(p.marks)-1]
	items := p.stack[at:]
	p.stack = p.stack[:at]
	return items, nil
}

// reduce replaces n values by one.
func (p *pickleReader) reduce(n int, by pickleValue) error {
	for range n {
		if _, err := p.pop(); err != nil {
			return err
		}
	}
	p.push(by)
	return nil
}
