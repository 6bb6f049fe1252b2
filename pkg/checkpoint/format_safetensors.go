package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

// maxSafetensors bounds the header that is read, to about 200,000 tensors. The format allows 100 MB.
const maxSafetensors = 32 << 20

// checkSafetensors compares the file's length with the end of its last tensor. Source: the safetensors format
// (8 bytes of header length, little endian; a JSON header {name: {dtype, shape, data_offsets: [begin, end]}};
// the tensors without gaps).
func checkSafetensors(r io.ReaderAt, size int64) error {
	var head [8]byte
	if size < 8 {
		return torn("is cut in its header")
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxSafetensors {
		return unknown("has a header of %d bytes: that is too large to follow, or no safetensors file", n)
	}
	if int64(n) > size-8 {
		return torn("is cut in its header")
	}
	end, err := lastOffset(io.NewSectionReader(r, 8, int64(n)))
	if errors.Is(err, errLargeJSON) {
		return err
	}
	if err != nil {
		return torn("has a header that cannot be read (%v)", err)
	}
	if have := size - 8 - int64(n); have != end {
		return torn("has %d bytes of tensors, its header says %d", have, end)
	}
	return nil
}

var errHeader = errors.New("it has another form")

// lastOffset returns the end of the last tensor. Every tensor has two offsets, the second not before the
// first.
func lastOffset(header io.Reader) (int64, error) {
	var begin, end int64
	tensors, offsets := 0, 0
	err := walkJSON(header, func(at jsonPlace, tok json.Token) error {
		switch {
		case at.depth == 0 || at.outer == "__metadata__":
		case at.depth == 1:
			if tok != json.Delim('{') || offsets != 2*tensors {
				return errHeader
			}
			tensors++
		case at.depth == 3 && at.inner == "data_offsets":
			number, _ := tok.(json.Number)
			n, err := number.Int64()
			offsets++
			if err != nil || n < 0 || offsets > 2*tensors || offsets == 2*tensors && n < begin {
				return errHeader
			}
			begin, end = n, max(end, n)
		}
		return nil
	})
	if err == nil && offsets != 2*tensors {
		err = errHeader
	}
	return end, err
}
