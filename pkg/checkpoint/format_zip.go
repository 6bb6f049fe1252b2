package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io"
)

const (
	zipEndLen     = 22
	zipEnd64Len   = 56
	zipLocatorLen = 20
	zipHeaderLen  = 46 // of a member in the central directory, without its name
	maxZipComment = 1 << 16
)

// zipDirectory is where the central directory lies, and how many members it has.
type zipDirectory struct {
	at, length int64
	members    uint64
}

// checkZip checks that the file ends with a central directory. A zip's directory is written last, so a file
// that was cut short has none. The members before it are not read. Source: PKWARE APPNOTE 4.3.12-4.3.16;
// torch.save and Keras write zips (torch/csrc/serialize inline_container, keras saving_lib).
func checkZip(r io.ReaderAt, size int64) error {
	_, err := findZipDirectory(r, size)
	return err
}

// findZipDirectory finds the central directory. Its end gives the number of members apart from its length: a
// number for which the directory is too short belongs to no zip, and must not size anything.
func findZipDirectory(r io.ReaderAt, size int64) (zipDirectory, error) {
	var d zipDirectory
	head := make([]byte, 4)
	if _, err := r.ReadAt(head, 0); err != nil && size >= 4 {
		return d, err
	}
	if !bytes.HasPrefix(head, []byte("PK")) {
		return d, unknown("is no zip: torch's format before 1.6 has no end that can be checked")
	}
	end, err := findZipEnd(r, size)
	if err != nil {
		return d, err
	}
	tail := make([]byte, zipEndLen)
	if _, err := r.ReadAt(tail, end); err != nil {
		return d, err
	}
	d.members = uint64(binary.LittleEndian.Uint16(tail[10:]))
	d.length, d.at = int64(binary.LittleEndian.Uint32(tail[12:])), int64(binary.LittleEndian.Uint32(tail[16:]))
	if d.at == 1<<32-1 || d.length == 1<<32-1 || d.members == 1<<16-1 {
		if d, end, err = zip64Directory(r, end); err != nil {
			return d, err
		}
	}
	if d.at < 0 || d.length < 0 || d.at > end || d.length > end-d.at {
		return d, torn("has a zip directory that lies outside of it")
	}
	if d.members > uint64(d.length)/zipHeaderLen {
		return d, torn("has a zip directory of %d bytes, too short for its %d members", d.length, d.members)
	}
	if d.length > 0 {
		if _, err := r.ReadAt(head, d.at); err != nil {
			return d, err
		}
		if string(head) != "PK\x01\x02" {
			return d, torn("has no zip directory where its end says it is")
		}
	}
	return d, nil
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
// to. start is where that record begins.
func zip64Directory(r io.ReaderAt, end int64) (d zipDirectory, start int64, err error) {
	loc := make([]byte, zipLocatorLen)
	if end < zipLocatorLen {
		return d, 0, torn("has no zip64 locator")
	}
	if _, err := r.ReadAt(loc, end-zipLocatorLen); err != nil {
		return d, 0, err
	}
	if string(loc[:4]) != "PK\x06\x07" {
		return d, 0, torn("has no zip64 locator")
	}
	start = int64(binary.LittleEndian.Uint64(loc[8:]))
	if start < 0 || start > end-zipLocatorLen-zipEnd64Len {
		return d, 0, torn("has a zip64 end that lies outside of it")
	}
	rec := make([]byte, zipEnd64Len)
	if _, err := r.ReadAt(rec, start); err != nil {
		return d, 0, err
	}
	if string(rec[:4]) != "PK\x06\x06" {
		return d, 0, torn("has no zip64 end where its locator says it is")
	}
	d.members = binary.LittleEndian.Uint64(rec[32:])
	d.at, d.length = int64(binary.LittleEndian.Uint64(rec[48:])), int64(binary.LittleEndian.Uint64(rec[40:]))
	return d, start, nil
}
