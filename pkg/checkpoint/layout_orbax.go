package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"
)

const (
	orbaxTmp      = ".orbax-checkpoint-tmp"
	orbaxMetadata = "_CHECKPOINT_METADATA"
	orbaxSuccess  = "commit_success.txt"
	ocdbtManifest = "manifest.ocdbt"
)

func isOrbax(d *listing) bool {
	return strings.Contains(path.Base(d.path), orbaxTmp) || d.has(orbaxMetadata) || d.has(orbaxSuccess)
}

// checkOrbax checks a checkpoint of Orbax. Orbax writes into <step>.orbax-checkpoint-tmp-<n>, sets
// commit_timestamp_nsecs in _CHECKPOINT_METADATA and renames the directory; where a rename is not atomic it
// writes commit_success.txt last (orbax/checkpoint/_src/path/atomicity.py, metadata/checkpoint.py). The files
// below d/ that an OCDBT tree needs are named in compressed nodes, which this check does not read: after a
// commit, only damage can remove one.
func (s *scanner) checkOrbax(d *listing, f *Found) error {
	base, tmp, _ := strings.Cut(path.Base(d.path), orbaxTmp)
	if tmp != "" || strings.HasSuffix(d.path, orbaxTmp) {
		f.Step = stepOf(base)
		return torn("a temporary directory that a save left over, or is writing")
	}
	items, err := s.orbaxCommit(d)
	if err != nil {
		return err
	}
	for _, item := range items {
		if !isFile(item) {
			return unknown("%s names an item outside of its directory", orbaxMetadata)
		}
		if !d.hasDir(item) {
			return torn("item %s is missing", item)
		}
	}
	return s.orbaxTree(d, 0)
}

// orbaxCommit checks that the checkpoint is committed and returns the names of its items, if they are written
// down.
func (s *scanner) orbaxCommit(d *listing) ([]string, error) {
	if !d.has(orbaxMetadata) {
		if d.sizes[orbaxSuccess] == 0 {
			return nil, torn("%s is empty", orbaxSuccess)
		}
		return nil, nil
	}
	data, err := s.read(d.at(orbaxMetadata), 1<<20)
	if err != nil {
		return nil, err
	}
	var meta struct {
		Commit   *int64          `json:"commit_timestamp_nsecs"`
		Handlers json.RawMessage `json:"item_handlers"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, torn("%s cannot be read", orbaxMetadata)
	}
	if meta.Commit == nil || *meta.Commit <= 0 {
		return nil, torn("%s has no commit time", orbaxMetadata)
	}
	var byItem map[string]json.RawMessage
	if json.Unmarshal(meta.Handlers, &byItem) != nil {
		return nil, nil // a single handler, by its name, for a checkpoint without items
	}
	items := make([]string, 0, len(byItem))
	for item := range byItem {
		items = append(items, item)
	}
	slices.Sort(items)
	return items, nil
}

// orbaxTree checks every file in a directory and below: none is temporary, no data file is empty, every OCDBT
// manifest is whole.
func (s *scanner) orbaxTree(d *listing, depth int) error {
	if depth > maxDepth {
		return nil
	}
	data := path.Base(d.path) == "d"
	for _, name := range d.files {
		switch {
		case strings.Contains(name, orbaxTmp):
			return torn("%s was left over", name)
		case data && d.sizes[name] == 0:
			return torn("d/%s is empty", name)
		case name == ocdbtManifest:
			if err := s.checkFormat(d.at(name), checkOCDBT); err != nil {
				return err
			}
		case name == "_METADATA" && d.sizes[name] == 0:
			return torn("_METADATA is empty")
		}
	}
	for _, name := range d.dirs {
		if strings.Contains(name, orbaxTmp) {
			return torn("%s was left over", name)
		}
		sub, err := s.list(d.at(name))
		if err != nil {
			return err
		}
		if name == "d" && d.has(ocdbtManifest) && len(sub.files) == 0 {
			return torn("%s/d has no data", path.Base(d.path))
		}
		if err := s.orbaxTree(sub, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkOCDBT checks an OCDBT manifest: magic 0x0cdb3a2a (big endian), the file's length (64 bits, little
// endian), ..., CRC-32C of all bytes before it (little endian). Source: tensorstore/kvstore/ocdbt/index.rst.
func checkOCDBT(r io.ReaderAt, size int64) error {
	if size > 16<<20 {
		return unknown("has %d bytes", size)
	}
	if size < 16 {
		return torn("is cut")
	}
	head, tail := make([]byte, 12), make([]byte, 4)
	if _, err := r.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := r.ReadAt(tail, size-4); err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(r, 0, size-4), make([]byte, 32<<10)); err != nil {
		return err
	}
	switch {
	case binary.BigEndian.Uint32(head) != 0x0cdb3a2a:
		return unknown("is no OCDBT manifest")
	case binary.LittleEndian.Uint64(head[4:]) != uint64(size):
		return torn("has %d bytes, its header says %d", size, binary.LittleEndian.Uint64(head[4:]))
	case sum.Sum32() != binary.LittleEndian.Uint32(tail):
		return torn("has another checksum than its content")
	}
	return nil
}
