package checkpoint

import (
	"io"
	"path"
)

// torchInts returns the numbers that stand under the given keys in what torch.save has pickled. Source:
// torch.save writes <name>/data.pkl, stored, protocol 2 (torch/serialization.py).
func torchInts(r io.ReaderAt, size int64, keys ...string) (map[string]int64, error) {
	var pickle *zipMember
	err := zipMembers(r, size, func(m zipMember) bool {
		if path.Base(m.name) == "data.pkl" {
			pickle = &m
		}
		return pickle == nil
	})
	switch {
	case err != nil:
		return nil, err
	case pickle == nil:
		return nil, unknown("has no data.pkl")
	case pickle.method != zipStored:
		return nil, unknown("has a compressed data.pkl")
	}
	body, err := pickle.open(r)
	if err != nil {
		return nil, err
	}
	return pickledInts(body, keys...)
}
