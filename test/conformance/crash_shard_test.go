package conformance

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Shard is one of Count parts of the crash points; Index counts from 1.
type Shard struct{ Index, Count int }

// ParseShard reads "1/4", the first of four shards. "1/1" is everything.
func ParseShard(text string) (Shard, error) {
	var s Shard
	if n, err := fmt.Sscanf(text+"\n", "%d/%d\n", &s.Index, &s.Count); n != 2 || err != nil {
		return Shard{}, fmt.Errorf("shard %q: want two numbers such as 1/4", text)
	}
	if s.Index < 1 || s.Index > s.Count {
		return Shard{}, fmt.Errorf("shard %q: the first number must be from 1 to the second", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// FileName is the shard as a part of a file's name.
func (s Shard) FileName() string { return fmt.Sprintf("%dof%d", s.Index, s.Count) }

// Has reports whether a point of a cycle on a scheduler is in the shard. Of the shards of one count exactly
// one has it. The answer depends on the point alone and not on its place in a list: the undisturbed runs that
// list the points differ by some writes, and the shards may run on different machines.
func (s Shard) Has(scheduler, cycle string, point Crash) bool {
	sum := sha256.Sum256([]byte(scheduler + "\n" + cycle + "\n" + point.String()))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index-1)
}
