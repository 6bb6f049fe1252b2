package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/fstest"
)

// sparse is a file of a given size that is empty between its head and its tail, as a few kilobytes on a disk
// can be. It counts what is read of it.
type sparse struct {
	head, tail []byte
	size       int64
	fill       byte
	read       int64
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), s.size-off))
	for i := range p[:n] {
		p[i] = s.fill
	}
	if off < int64(len(s.head)) {
		copy(p[:n], s.head[off:])
	}
	if at := s.size - int64(len(s.tail)); off+int64(n) > at {
		if off >= at {
			copy(p[:n], s.tail[off-at:])
		} else {
			copy(p[at-off:n], s.tail)
		}
	}
	if s.read += int64(n); n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// allocated is how many bytes a function allocates in all, dead ones included: a bound on what it holds.
func allocated(f func()) int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - before)
}

// zipEnd is the end of a zip64 whose directory of length bytes at offset at claims any number of members.
func zipEnd(end int64, members, length, at uint64) []byte {
	b := []byte("PK\x06\x06")
	b = binary.LittleEndian.AppendUint64(b, 44)
	b = append(b, make([]byte, 12)...)
	for _, n := range []uint64{members, members, length, at} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = append(append(b, "PK\x06\x07"...), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(end))
	b = append(append(b, 1, 0, 0, 0), "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff"...)
	return append(b, bytes.Repeat([]byte{0xff}, 8)...)
}

// A few kilobytes on the disk must cost neither memory nor time, whatever they claim.
func TestHostileFilesAreCheap(t *testing.T) {
	const size = 1 << 40
	start := int64(size - 56 - 20 - 22)
	claim := append(zipEnd(start, 1<<33, 4096, 0), 0, 0)
	handles := func(n int) []byte { // a table whose index names one block over and over
		entries := []byte{}
		for range n {
			entries = append(entries, 0, 0, 4, 0, 0x80, 0x80, 4) // an empty key, a handle: offset 0, 64 KiB
		}
		entries = append(entries, 0, 0, 0, 0, 1, 0, 0, 0)
		foot := append(varints(0, 8), varints(65600, uint64(len(entries)))...)
		block := make([]byte, 65600)
		// A block without entries: all of its bytes are restart offsets and their number.
		binary.LittleEndian.PutUint32(block[65536-4:], 16383)
		table := append(append(block, entries...), 0, 1, 2, 3, 4)
		table = append(table, append(foot, make([]byte, 40-len(foot))...)...)
		return binary.LittleEndian.AppendUint64(table, tableMagic)
	}
	header := func(n uint64, text string) *sparse {
		b := append(binary.LittleEndian.AppendUint64(nil, n), text...)
		return &sparse{head: b, size: size, fill: ' '}
	}
	one := func(data []byte) *sparse { return &sparse{head: data, size: int64(len(data))} }
	pickle := func(data []byte) *sparse {
		return one(zipOf(tree{"a/data.pkl": append(append([]byte{0x80, 2}, data...), '.')}))
	}
	var names []byte
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("c%0990d\nx\n0", i)...) // a class of its own each time
	}
	torch := func(r io.ReaderAt, size int64) error { _, err := torchInts(r, size, "a"); return err }
	index := func(r io.ReaderAt, size int64) error { _, err := bundleEnds(r, size); return err }
	for name, tc := range map[string]struct {
		file  *sparse
		check func(io.ReaderAt, int64) error
		state State
	}{
		"zip that claims 8 billion members": {
			&sparse{head: []byte("PK\x01\x02"), tail: claim, size: size}, torch, Torn,
		},
		"Keras file that claims them": {
			&sparse{head: []byte("PK\x01\x02"), tail: claim, size: size}, checkKeras, Torn,
		},
		"safetensors with a header of 95 MB":    {header(95<<20, "{"), checkSafetensors, Unknown},
		"safetensors with blanks for a header":  {header(30<<20, "{"), checkSafetensors, Unknown},
		"safetensors with one long name":        {header(30<<20, `{"`), checkSafetensors, Unknown},
		"safetensors that nests without an end": {one(nested(1 << 20)), checkSafetensors, Unknown},
		"safetensors with a million offsets":    {one(offsets(1 << 20)), checkSafetensors, Torn},
		"index of 20,000 handles to one block":  {one(handles(20_000)), index, Torn},
		"OCDBT manifest of 16 MiB":              {&sparse{size: 16 << 20}, checkOCDBT, Unknown},
		"pickle of 20 MB of class names":        {pickle(names), torch, Unknown},
		"pickle of open marks":                  {pickle(bytes.Repeat([]byte("(}"), 1<<20)), torch, Unknown},
		"pickle that says it holds 200 MiB":     {pickle([]byte{'B', 0, 0, 0, 12}), torch, Torn},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			bytes := allocated(func() { err = tc.check(tc.file, tc.file.size) })
			var incomplete *incompleteError
			if !errors.As(err, &incomplete) || incomplete.state != tc.state {
				t.Errorf("want %s, got %v", tc.state, err)
			}
			if limit := int64(80 << 20); bytes > limit || tc.file.read > limit {
				t.Errorf("allocated %d bytes and read %d, want at most %d", bytes, tc.file.read, limit)
			}
		})
	}
}

func withHeader(text string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
}

func nested(depth int) []byte { return withHeader(`{"a":` + strings.Repeat("[", depth)) }

func offsets(n int) []byte {
	return withHeader(`{"a":{"data_offsets":[` + strings.Repeat("0,", n) + `0]}}`)
}

// A shard count is a number in a file: it must not size anything.
func TestManyShardsAreNotListed(t *testing.T) {
	model := torchSave(map[string]int64{"dp_world_size": 1 << 10, "mp_world_size": 1 << 10})
	files := tree{
		"latest": []byte("global_step1"), "global_step1/mp_rank_00_model_states.pt": model,
		"global_step1/zero_pp_rank_0_mp_rank_00_optim_states.pt": model,
	}
	fsys := files.fs()
	var found []Found
	var err error
	bytes := allocated(func() { found, err = Scan(fsys, ".", Options{}) })
	if err != nil || len(found) != 1 || found[0].State != Torn || bytes > 8<<20 {
		t.Errorf("got %+v, %v, and %d bytes", found, err, bytes)
	}
}

// pipes is a file system in which some names are pipes. Opening one would block for ever.
type pipes struct {
	fstest.MapFS
	opened []string
}

func (p *pipes) Open(name string) (fs.File, error) {
	if f := p.MapFS[name]; f != nil && !f.Mode.IsRegular() && !f.Mode.IsDir() {
		p.opened = append(p.opened, name)
	}
	return p.MapFS.Open(name)
}

// Wherever a file is expected there may be a pipe, a socket or a device: by its own name, or named in another
// file.
func TestOnlyFilesAreOpened(t *testing.T) {
	for name, fx := range fixtures() {
		for file := range fx.files {
			for _, kind := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeSocket, fs.ModeDevice | fs.ModeCharDevice} {
				p := &pipes{MapFS: fx.files.fs()}
				p.MapFS[file] = &fstest.MapFile{Mode: kind | 0o600, Data: fx.files[file]}
				if found, err := Scan(p, ".", Options{Sums: true}); err != nil || len(p.opened) > 0 {
					t.Errorf("%s, %s: opened %v, found %+v, %v", name, file, p.opened, found, err)
				}
			}
		}
	}
}

func TestTooManyCheckpoints(t *testing.T) {
	fsys := fstest.MapFS{}
	for i := range maxFound + 1 {
		fsys[fmt.Sprintf("%d.ckpt", i)] = &fstest.MapFile{}
	}
	if _, err := Scan(fsys, ".", Options{}); err == nil || !strings.Contains(err.Error(), "keepLast") {
		t.Errorf("got %v", err)
	}
}
