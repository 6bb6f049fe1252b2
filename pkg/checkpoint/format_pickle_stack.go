package checkpoint

import (
	"bufio"
	"errors"
)

// Bounds of a pickle. The .metadata of a large job has tens of megabytes and names a few thousand files over
// and over; Python's pickler keeps a thousand items on the stack, and one entry of its memo for each name.
// Together these bounds keep what a pickle can make this reader hold below about 50 MiB.
const (
	maxPickle      = 256 << 20
	maxPickleStack = 1 << 16
	maxPickleMemo  = 1 << 17
	maxPickleText  = 1024
	// maxPickleNames and maxPickleKept bound the strings that are kept, by number and by bytes.
	maxPickleNames = 1 << 16
	maxPickleKept  = 8 << 20
	// maxPickleEntries of one dictionary are kept. What is looked for has three.
	maxPickleEntries = 8
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

// pickleValue is a value on the stack or in the memo. The zero value is opaque: its type and content are not
// kept.
type pickleValue struct {
	kind pickleKind
	n    int64
	text string
	dict map[string]pickleValue // only the keys that the reader keeps
}

// pickleReader is the stack machine that follows one pickle.
type pickleReader struct {
	in    *bufio.Reader
	stack []pickleValue
	marks []int
	memo  map[int64]pickleValue
	// puts counts the values that were memoized: the next key of the MEMOIZE opcode.
	puts int64
	// keep reports whether a string is kept. All other strings become opaque values.
	keep func(string) bool
	// onEntry is called for every dictionary entry whose key is kept.
	onEntry func(key string, val pickleValue)
	// onBuild is called for every object that is given its state.
	onBuild func(class string, state pickleValue)
	// names interns strings, kept is their length together.
	names map[string]string
	kept  int
}

// errPickle: an opcode is unknown, or does not fit what is on the stack.
var errPickle = errors.New("it is no pickle that can be followed")

func (p *pickleReader) push(v pickleValue) { p.stack = append(p.stack, v) }

// pop takes the top of the stack, down to the last mark.
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

// popMark takes the last mark and everything above it.
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

// discard pops n values.
func (p *pickleReader) discard(n int) error {
	for range n {
		if _, err := p.pop(); err != nil {
			return err
		}
	}
	return nil
}

// replace pops n values and pushes an opaque one.
func (p *pickleReader) replace(n int) error {
	if err := p.discard(n); err != nil {
		return err
	}
	p.push(pickleValue{})
	return nil
}
