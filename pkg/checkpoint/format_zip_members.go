package checkpoint

import (
	"bufio"
	"encoding/binary"
	"io"
)

// maxZipDir bounds the central directory that is walked through: torch.save writes about 80 bytes for each
// storage, so this allows 100,000.
const maxZipDir = 8 << 20

const zipStored = 0 // the compression method of torch.save

// zipMember is one entry of the central directory.
type zipMember struct {
	name   string
	method uint16
	// header is the offset of the local header, size the number of bytes that the member takes after it.
	header, size int64
}

// zipMembers calls each for the members of a zip until it returns false. It holds one of them at a time:
// archive/zip allocates as many as the end of the file claims before it reads the first one.
func zipMembers(r io.ReaderAt, size int64, each func(zipMember) bool) error {
	d, err := findZipDirectory(r, size)
	if err != nil {
		return err
	}
	if d.length > maxZipDir {
		return unknown("has a zip directory of %d bytes", d.length)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.at, d.length), 16<<10)
	for range d.members {
		m, err := readZipMember(in)
		if err != nil {
			return err
		}
		if !each(m) {
			return nil
		}
	}
	return nil
}

func readZipMember(in *bufio.Reader) (zipMember, error) {
	bad := torn("has a zip directory that cannot be read")
	head := make([]byte, zipHeaderLen)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:4]) != "PK\x01\x02" {
		return zipMember{}, bad
	}
	length := func(at int) int { return int(binary.LittleEndian.Uint16(head[at:])) }
	rest := make([]byte, length(28)+length(30)) // name and extra fields, at most 64 KiB each
	if _, err := io.ReadFull(in, rest); err != nil {
		return zipMember{}, bad
	}
	if _, err := in.Discard(length(32)); err != nil { // the comment
		return zipMember{}, bad
	}
	m := zipMember{
		name: string(rest[:length(28)]), method: binary.LittleEndian.Uint16(head[10:]),
		size:   int64(binary.LittleEndian.Uint32(head[20:])),
		header: int64(binary.LittleEndian.Uint32(head[42:])),
	}
	m.readZip64(rest[length(28):], binary.LittleEndian.Uint32(head[24:]))
	if m.size < 0 || m.header < 0 {
		return zipMember{}, bad
	}
	return m, nil
}

// readZip64 replaces the numbers that do not fit 32 bits by those of the extra field 1, which has only them,
// in the order uncompressed size, compressed size, offset (APPNOTE 4.5.3).
func (m *zipMember) readZip64(extra []byte, uncompressed uint32) {
	const large = 1<<32 - 1
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return
		}
		field := extra[:n]
		if extra = extra[n:]; id != 1 {
			continue
		}
		next := func(was int64) int64 {
			if was != large || len(field) < 8 {
				return was
			}
			v := int64(binary.LittleEndian.Uint64(field))
			field = field[8:]
			return v
		}
		next(int64(uncompressed))
		m.size = next(m.size)
		m.header = next(m.header)
		return
	}
}

// open returns the bytes of a member that is stored.
func (m zipMember) open(r io.ReaderAt) (io.Reader, error) {
	head := make([]byte, 30)
	if _, err := r.ReadAt(head, m.header); err != nil || string(head[:4]) != "PK\x03\x04" {
		return nil, torn("has no %s where its directory says it is", Printable(m.name, 80))
	}
	at := m.header + 30 + int64(binary.LittleEndian.Uint16(head[26:])) +
		int64(binary.LittleEndian.Uint16(head[28:]))
	if at < 0 {
		return nil, torn("has no %s where its directory says it is", Printable(m.name, 80))
	}
	return io.NewSectionReader(r, at, m.size), nil
}
