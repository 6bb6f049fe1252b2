package checkpoint

import (
	"encoding/json"
	"errors"
	"io"
)

// Bounds of JSON that is read token by token. Files may be long (the Trainer's state keeps the history of the
// whole training); what is kept in memory at a time may not. The parser keeps one token, and one number for
// each level.
const (
	maxJSON      = 64 << 20
	maxJSONToken = 64 << 10
	maxJSONDepth = 64
)

var (
	errNotObject = errors.New("no JSON object")
	errLargeJSON = unknown("holds JSON that is too large to follow")
)

// jsonPlace is where a value stands in a JSON object.
type jsonPlace struct {
	// depth is the number of objects and lists around it.
	depth int
	// outer and inner are the keys that lead to it, in the outermost object and in the one below.
	outer, inner string
}

// walkJSON calls each for every value of a JSON object: strings, numbers, literals, and the delimiters that
// open objects and lists. It reads the object to its end, token by token: half an object is an error.
func walkJSON(r io.Reader, each func(jsonPlace, json.Token) error) error {
	dec := json.NewDecoder(&boundedJSON{in: r})
	dec.UseNumber()
	var open []json.Delim
	var at jsonPlace
	isKey := false
	for {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		delim, isDelim := tok.(json.Delim)
		if len(open) == 0 && delim != '{' {
			return errNotObject
		}
		switch {
		case isKey && !isDelim:
			switch key := tok.(string); len(open) {
			case 1:
				at.outer, at.inner = key, ""
			case 2:
				at.inner = key
			}
			isKey = false
			continue
		case delim == '}' || delim == ']':
			if open = open[:len(open)-1]; len(open) == 0 {
				return nil
			}
		default:
			at.depth = len(open)
			if err := each(at, tok); err != nil {
				return err
			}
			if isDelim {
				open = append(open, delim)
			}
		}
		isKey = open[len(open)-1] == '{'
	}
}

// jsonInt returns the number under a key of the outermost object, noStep if there is none.
func jsonInt(r io.Reader, key string) (int64, error) {
	found := int64(noStep)
	err := walkJSON(r, func(at jsonPlace, tok json.Token) error {
		if n, ok := tok.(json.Number); ok && at.depth == 1 && at.outer == key {
			if i, err := n.Int64(); err == nil {
				found = i
			}
		}
		return nil
	})
	return found, err
}

// boundedJSON passes JSON on until it nests too deeply, or holds a token (or a run of blanks) that is too
// long.
type boundedJSON struct {
	in         io.Reader
	depth, run int
	text, esc  bool
}

func (b *boundedJSON) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	for _, c := range p[:n] {
		b.run++
		switch {
		case b.esc:
			b.esc = false
		case b.text:
			b.esc = c == '\\'
			if c == '"' {
				b.text, b.run = false, 0
			}
		case c == '"':
			b.text = true
		case c == '{' || c == '[':
			b.depth, b.run = b.depth+1, 0
		case c == '}' || c == ']':
			b.depth, b.run = b.depth-1, 0
		case c == ',' || c == ':':
			b.run = 0
		}
		if b.run > maxJSONToken || b.depth > maxJSONDepth {
			return 0, errLargeJSON
		}
	}
	return n, err
}
