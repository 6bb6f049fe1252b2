package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

// checkSafetensors compares the file's length with the end of its last tensor. Source: the safetensors format
// (8 bytes of header length, little endian, at most 100 MB; a JSON header {name: {dtype, shape, data_offsets:
// [begin, end]}}; the tensors without gaps).
func checkSafetensors(r io.ReaderAt, size int64) error {
	var head [8]byte
	if size < 8 {
		return torn("is cut in its header")
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > 100_000_000 {
		return unknown("has a header of %d bytes: it is no safetensors file", n)
	}
	if int64(n) > size-8 {
		return torn("is cut in its header")
	}
	end, err := lastOffset(json.NewDecoder(io.NewSectionReader(r, 8, int64(n))))
	if err != nil {
		return torn("has a header that cannot be read (%v)", err)
	}
	if have := size - 8 - int64(n); have != end {
		return torn("has %d bytes of tensors, its header says %d", have, end)
	}
	return nil
}

var errHeader = errors.New("it has another form")

// lastOffset returns the end of the last tensor. It reads the header token by token, because it may be large.
func lastOffset(dec *json.Decoder) (int64, error) {
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return 0, errors.Join(errHeader, err)
	}
	var end int64
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return 0, err
		}
		var tensor struct {
			Offsets []int64 `json:"data_offsets"`
		}
		if name == "__metadata__" {
			var skip map[string]string
			if err := dec.Decode(&skip); err != nil {
				return 0, err
			}
			continue
		}
		if err := dec.Decode(&tensor); err != nil {
			return 0, err
		}
		if len(tensor.Offsets) != 2 || tensor.Offsets[0] < 0 || tensor.Offsets[1] < tensor.Offsets[0] {
			return 0, errHeader
		}
		end = max(end, tensor.Offsets[1])
	}
	_, err := dec.Token()
	return end, err
}
