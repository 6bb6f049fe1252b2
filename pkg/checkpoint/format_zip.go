package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
)

const (
	zipEndLen     = 22
	zipEnd64Len   = 56
	zipLocatorLen = 20
	maxZipComment = 1 << 16
	// maxZipDir bounds the central directory, which archive/zip reads into memory.
	maxZipDir = 8 << 20
)

// checkZip checks that the file ends with a central directory. A zip's directory is written last, so a file
// that was cut short has none. The members before it are not read. Source: PKWARE APPNOTE 4.3.12-4.3.16;
// torch.save and Keras write zips (torch/csrc/serialize inline_container, keras saving_lib).
func checkZip(r io.ReaderAt, size int64) error {
	_, _, err := zipDirectory(r, size)
	return err
}

// zipDirectory returns the offset and the length of the central directory.
func zipDirectory(r io.ReaderAt, size int64) (at, length int64, err error) {
	head := make([]byte, 4)
	if _, err := r.ReadAt(head, 0); err != nil && size >= 4 {
		return 0, 0, err
	}
	if !bytes.HasPrefix(head, []byte("PK")) {
		return 0, 0, unknown("is no zip: torch's format before 1.6 has no end that can be checked")
	}
	end, err := findZipEnd(r, size)
	if err != nil {
		return 0, 0, err
	}
	tail := make([]byte, zipEndLen)
	if _, err := r.ReadAt(tail, end); err != nil {
		return 0, 0, err
	}
	length, at = int64(binary.LittleEndian.Uint32(tail[12:])), int64(binary.LittleEndian.Uint32(tail[16:]))
	if at == 1<<32-1 || length == 1<<32-1 || binary.LittleEndian.Uint16(tail[10:]) == 1<<16-1 {
		if at, length, end, err = zip64Directory(r, end); err != nil {
			return 0, 0, err
		}
	}
	if at < 0 || length < 0 || at > end || length > end-at {
		return 0, 0, torn("has a zip directory that lies outside of it")
	}
	if length > 0 {
		if _, err := r.ReadAt(head, at); err != nil {
			return 0, 0, err
		}
		if string(head) != "PK\x01\x02" {
			return 0, 0, torn("has no zip directory where its end says it is")
		}
	}
	return at, length, nil
}

// findZipEnd returns the offset of the end-of-central-directory record. Only a comment may follow the record,
// so the comment's length tells the record from the same bytes inside a comment.
func findZipEnd(r io.ReaderAt, size int64) (int64, error) {
	n := min(size, zipEndLen+maxZipComment)
	tail := make([]byte, n)
	if _, err := r.ReadAt(tail, size-n); err != nil {
		return 0, err
	}
	for i := len(tail) - zipEndLen; i >= 0; i-- {
		comment := int(binary.LittleEndian.Uint16(tail[i+20:]))
		if string(tail[i:i+4]) == "PK\x05\x06" && i+zipEndLen+comment == len(tail) {
			return size - n + int64(i), nil
		}
	}
	return 0, torn("has no end of its zip: it was cut, or is still being written")
}

// zip64Directory reads the directory's position from the zip64 record, which the locator before end points
// to.
func zip64Directory(r io.ReaderAt, end int64) (at, length, start int64, err error) {
	loc := make([]byte, zipLocatorLen)
	if end < zipLocatorLen {
		return 0, 0, 0, torn("has no zip64 locator")
	}
	if _, err := r.ReadAt(loc, end-zipLocatorLen); err != nil {
		return 0, 0, 0, err
	}
	if string(loc[:4]) != "PK\x06\x07" {
		return 0, 0, 0, torn("has no zip64 locator")
	}
	start = int64(binary.LittleEndian.Uint64(loc[8:]))
	if start < 0 || start > end-zipLocatorLen-zipEnd64Len {
		return 0, 0, 0, torn("has a zip64 end that lies outside of it")
	}
	rec := make([]byte, zipEnd64Len)
	if _, err := r.ReadAt(rec, start); err != nil {
		return 0, 0, 0, err
	}
	if string(rec[:4]) != "PK\x06\x06" {
		return 0, 0, 0, torn("has no zip64 end where its locator says it is")
	}
	at, length = int64(binary.LittleEndian.Uint64(rec[48:])), int64(binary.LittleEndian.Uint64(rec[40:]))
	return at, length, start, nil
}

// openZip opens a zip whose central directory has at most maxZipDir bytes.
func openZip(r io.ReaderAt, size int64) (*zip.Reader, error) {
	_, length, err := zipDirectory(r, size)
	if err != nil {
		return nil, err
	}
	if length > maxZipDir {
		return nil, unknown("has a zip directory of %d bytes", length)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, torn("has a zip directory that cannot be read (%v)", err)
	}
	return z, nil
}
