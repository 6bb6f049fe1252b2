package checkpoint

import (
	"archive/zip"
	"io"
	"path"
)

// torchInts returns the numbers that stand under the given keys in what torch.save has pickled. Source:
// torch.save writes <name>/data.pkl, stored, protocol 2 (torch/serialization.py).
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
