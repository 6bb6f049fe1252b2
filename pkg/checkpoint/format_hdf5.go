package checkpoint

import (
	"encoding/binary"
	"io"
)

const hdf5Signature = "\x89HDF\r\n\x1a\n"

// checkHDF5 compares the file's length with the end-of-file address in its superblock. Source: HDF5 file
// format specification 3.0, section II.A. Three addresses of "size of offsets" bytes (base, free space or
// superblock extension, end of file) start at byte 24 in version 0, 28 in version 1, 12 in versions 2 and 3.
// In version 3, bit 0 of the consistency flags is set while the file is open for writing.
func checkHDF5(r io.ReaderAt, size int64) error {
	b := make([]byte, min(size, 96))
	if _, err := r.ReadAt(b, 0); err != nil {
		return err
	}
	if len(b) < 9 || string(b[:8]) != hdf5Signature {
		return torn("does not begin as HDF5 does")
	}
	var width, at int
	switch version := b[8]; {
	case version <= 1 && len(b) > 14:
		width, at = int(b[13]), 24+4*int(version)
	case version <= 3 && len(b) > 12:
		width, at = int(b[9]), 12
		if version == 3 && b[11]&1 != 0 {
			return torn("is open for writing")
		}
	default:
		return unknown("has a superblock of version %d", version)
	}
	if width != 4 && width != 8 {
		return unknown("has addresses of %d bytes", width)
	}
	if len(b) < at+3*width {
		return torn("is cut in its superblock")
	}
	address := func(i int) uint64 {
		if p := b[at+i*width:]; width == 8 {
			return binary.LittleEndian.Uint64(p)
		} else {
			return uint64(binary.LittleEndian.Uint32(p))
		}
	}
	end := address(2)
	if end > 1<<60 || end < uint64(at) {
		return torn("has no end-of-file address")
	}
	if uint64(size) < end {
		return torn("has %d bytes, its superblock says %d", size, end)
	}
	return nil
}
