package checkpoint

import (
	"encoding/binary"
	"io"
)

// The index of a TensorFlow bundle is an SSTable as LevelDB writes it. Sources:
// tensorflow/core/lib/io/format.cc and block.cc (a footer of 48 bytes: two block handles, padding, magic; a
// block is entries, restart offsets, their count, then a compression byte and a CRC),
// tensorflow/core/protobuf/tensor_bundle.proto (BundleHeaderProto under the empty key; BundleEntryProto).

const (
	tableFooter = 48
	tableMagic  = 0xdb4775248b80fb57
	maxTable    = 64 << 20
	maxBlock    = 4 << 20
	maxShards   = 99_999
)

var errTable = torn("is cut, or no index of TensorFlow")

// bundleEnds returns, for each shard, the offset at which its last tensor ends.
func bundleEnds(r io.ReaderAt, size int64) ([]int64, error) {
	if size > maxTable {
		return nil, unknown("has %d bytes", size)
	}
	if size < tableFooter {
		return nil, errTable
	}
	foot := make([]byte, tableFooter)
	if _, err := r.ReadAt(foot, size-tableFooter); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint64(foot[40:]) != tableMagic {
		return nil, errTable
	}
	_, _, rest, ok := blockHandle(foot[:40]) // of the metaindex
	at, length, _, ok2 := blockHandle(rest)
	if !ok || !ok2 {
		return nil, errTable
	}
	b := &bundleIndex{r: r, size: size}
	err := b.block(at, length, func(_, val []byte) error {
		at, length, _, ok := blockHandle(val)
		// The blocks follow each other. Otherwise half a million handles of one block would be read for hours.
		if !ok || at < b.next || length > uint64(size) {
			return errTable
		}
		b.next = at + length
		return b.block(at, length, b.entry)
	})
	if err == nil && b.ends == nil {
		err = errTable
	}
	return b.ends, err
}

// bundleIndex is an index that is being read, and the ends of the shards as far as it has been.
type bundleIndex struct {
	r    io.ReaderAt
	size int64
	ends []int64
	// next is the least offset that the next block may have.
	next uint64
}

// blockHandle decodes a block's offset and length, and returns what follows.
func blockHandle(b []byte) (at, length uint64, rest []byte, ok bool) {
	at, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, nil, false
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return 0, 0, nil, false
	}
	return at, length, b[n+m:], true
}

// block calls each for every entry of a block. A key is stored as its difference from the key before it.
func (b *bundleIndex) block(at, length uint64, each func(key, val []byte) error) error {
	if length > maxBlock {
		return unknown("has a block of %d bytes", length)
	}
	if at > uint64(b.size) || length+5 > uint64(b.size)-at || length < 4 {
		return errTable
	}
	data := make([]byte, length+1)
	if _, err := b.r.ReadAt(data, int64(at)); err != nil {
		return err
	}
	if data[length] != 0 {
		return unknown("has compressed blocks")
	}
	data = data[:length]
	restarts := uint64(binary.LittleEndian.Uint32(data[length-4:]))
	if restarts > (length-4)/4 {
		return errTable
	}
	data = data[:length-4-4*restarts]
	var key []byte
	for len(data) > 0 {
		var n [3]uint64
		for i := range n {
			v, used := binary.Uvarint(data)
			if used <= 0 {
				return errTable
			}
			n[i], data = v, data[used:]
		}
		shared, fresh, val := n[0], n[1], n[2]
		if shared > uint64(len(key)) || fresh > uint64(len(data)) || val > uint64(len(data))-fresh {
			return errTable
		}
		key = append(key[:shared], data[:fresh]...)
		if err := each(key, data[fresh:fresh+val]); err != nil {
			return err
		}
		data = data[fresh+val:]
	}
	return nil
}

// entry reads the header, whose empty key comes first, or the position of one tensor.
func (b *bundleIndex) entry(key, val []byte) error {
	var shards, shard, offset, size uint64
	if err := protoInts(val, func(field int, n uint64) {
		switch field {
		case 1:
			shards = n // of the header message
		case 3:
			shard = n
		case 4:
			offset = n
		case 5:
			size = n
		}
	}); err != nil {
		return err
	}
	if len(key) == 0 {
		if shards < 1 || shards > maxShards || b.ends != nil {
			return errTable
		}
		b.ends = make([]int64, shards)
		return nil
	}
	if shard >= uint64(len(b.ends)) || offset > 1<<60 || size > 1<<60 {
		return errTable
	}
	b.ends[shard] = max(b.ends[shard], int64(offset+size))
	return nil
}

// protoInts calls each for every varint field of a protobuf message, and skips all other fields.
func protoInts(b []byte, each func(field int, n uint64)) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errTable
		}
		b = b[n:]
		skip := uint64(0)
		switch tag & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return errTable
			}
			each(int(tag>>3), v)
			skip = uint64(n)
		case 1:
			skip = 8
		case 2:
			v, n := binary.Uvarint(b)
			if n <= 0 || v > uint64(len(b)) {
				return errTable
			}
			skip = uint64(n) + v
		case 5:
			skip = 4
		default:
			return errTable
		}
		if skip > uint64(len(b)) {
			return errTable
		}
		b = b[skip:]
	}
	return nil
}
