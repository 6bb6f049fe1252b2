package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"path"
)

const (
	zipEndLen     = 22
	zipEnd64Len   = 56
	zipLocatorLen = 20
	maxZipComment = 1 << 16
	// maxZipDir bounds the directory that archive/zip reads into memory.
	maxZipDir = 8 << 20
)

// checkZip looks for the end of central directory and at the directory before it. A zip is written front to back and its
// directory last, so a file that was cut has none. Source: PKWARE APPNOTE 4.3.12-4.3.16; torch.save and Keras write zips
// (torch/csrc/serialize inline_container, keras saving_lib). What lies before the directory is not read.
func checkZip(r io.ReaderAt, size int64) error {
	_, _, err := zipDirectory(r, size)
	return err
}

// zipDirectory finds where the central directory is and how long.
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

func findZipEnd(r io.ReaderAt, size int64) (int64, error) {
	n := min(size, zipEndLen+maxZipComment)
	tail := make([]byte, n)
	if _, err := r.ReadAt(tail, size-n); err != nil {
		return 0, err
	}
	for i := len(tail) - zipEndLen; i >= 0; i-- {
		if string(tail[i:i+4]) == "PK\x05\x06" && i+zipEndLen+int(binary.LittleEndian.Uint16(tail[i+20:])) == len(tail) {
			return size - n + int64(i), nil
		}
	}
	return 0, torn("has no end of its zip: it was cut, or is still being written")
}

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
	return int64(binary.LittleEndian.Uint64(rec[48:])), int64(binary.LittleEndian.Uint64(rec[40:])), start, nil
}

// openZip opens a zip whose directory is small enough.
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

// torchInts reads numbers by their key from what torch.save pickled. Source: torch.save writes <name>/data.pkl, stored, protocol 2
// (torch/serialization.py).
func torchInts(r io.ReaderAt, size int64, keys ...string) (map[string]int64, error) {
	z, err := openZip(r, size)
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		if path.Base(f.Name) != "data.pkl" {
			continue
		}
		if f.Method != zip.Store {
			return nil, unknown("has a compressed data.pkl")
		}
		body, err := f.OpenRaw()
		if err != nil {
			return nil, torn("has no data.pkl where its directory says it is")
		}
		return pickledInts(body, keys...)
	}
	return nil, unknown("has no data.pkl")
}
