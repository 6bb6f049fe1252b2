package checkpoint

import (
	"encoding/json"
	"errors"
	"io"
)

const maxJSON = 64 << 20

var errNotObject = errors.New("no JSON object")

// jsonInt returns the number under a key of the outermost object, noStep if there is none. It reads the
// object to its end, token by token: half an object is an error, and a large one costs no memory.
func jsonInt(r io.Reader, key string) (int64, error) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	depth, found, isKey, last := 0, int64(noStep), false, ""
	for {
		tok, err := dec.Token()
		if err != nil {
			return 0, err
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			isKey = depth == 1
			if depth == 0 {
				return found, nil
			}
			continue
		case string:
			if depth == 1 && isKey {
				last, isKey = v, false
				continue
			}
		case json.Number:
			if n, err := v.Int64(); depth == 1 && last == key && err == nil {
				found = n
			}
		}
		if depth == 0 {
			return 0, errNotObject
		}
		isKey = depth == 1
	}
}
